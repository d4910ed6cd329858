"""Operators of a user's own: one class of attributes whose definition says the rest.

A definition is data that a user's file makes (docs/custom_operators.md). It travels inside the attributes of
the nodes that use it, so nothing is registered anywhere and two models may define an operator differently.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from tinydeploy.errors import TinyDeployError
from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site

Number = int | float
Value = int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]
Numbers = Mapping[str, Number]

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_RESERVED = {"out", "in_rows", "scratch", "out1", "out2", "out3"}


@dataclass(frozen=True, slots=True)
class Custom(Attrs):
    """A node of a user's operator: its definition, and the attributes that the model gave the node."""

    definition: Definition
    values: tuple[tuple[str, Value], ...] = ()

    def get(self, name: str, default: Value) -> Value:
        """An attribute of the node."""
        return dict(self.values).get(name, default)

    def number(self, name: str, default: Number | None = None) -> Number:
        """An attribute that is a number; raises ValueError where it is missing or no number."""
        value = dict(self.values).get(name, default)
        if not isinstance(value, int | float):
            raise ValueError(f"attribute {name!r} is {value!r}, not a number")
        return value


def _numbers_given(site: Site[Custom]) -> Numbers:
    return {name: value for name, value in site.attrs.values if isinstance(value, int | float)}


@dataclass(frozen=True, slots=True)
class Definition:
    """What a user says of an operator.

    ``op`` is the node's type in ONNX with its domain, ``my.audio.Snake``. ``roles`` name the inputs (``?``
    marks optional ones) and ``results`` the outputs; in the C they are pointers of these names. ``infer``
    gives the output types, ``reference`` the outputs from the input arrays (None where absent): an array, or
    a tuple of them. ``c`` is the body of the C function, a template: ``{{ name }}`` prints a number of
    ``params``, ``{{ ROLE_elements }}`` and ``{{ ROLE_shape[0] }}`` the extents of an input or output; ``{% if
    has_ROLE %}`` asks for an optional input. ``params`` are the node's numbers unless said otherwise.
    ``scratch_bytes`` is working memory, ``void *scratch`` in C. ``macs`` counts multiply-accumulates.
    """

    op: str
    roles: tuple[str, ...]
    infer: Callable[[Site[Custom]], tuple[TensorType, ...]]
    reference: Callable[..., Array | tuple[Array, ...]]
    c: str
    results: tuple[str, ...] = ("y",)
    params: Callable[[Site[Custom]], Numbers] = _numbers_given
    scratch_bytes: Callable[[Site[Custom]], int] = field(default=lambda _site: 0)
    macs: Callable[[Site[Custom]], int] = field(default=lambda _site: 0)
    doc: str = "an operator of the user's own"

    def __post_init__(self) -> None:
        names = [role.removesuffix("?") for role in self.roles] + list(self.results)
        bad = [name for name in names if not _NAME.fullmatch(name) or name in _RESERVED]
        if bad or len(set(names)) < len(names) or not self.results:
            raise TinyDeployError(
                f"the names {', '.join(names)} cannot all be C variables",
                where=f"operator {self.op}",
                fix="Give each input and output a name of its own: small letters, digits, underscores",
            )

    def __repr__(self) -> str:
        """What the model's text form and hash see: the name and a digest of the C."""
        return f"{self.op!r}:{hashlib.sha256(self.c.encode()).hexdigest()[:16]}"


def _infer(site: Site[Custom]) -> tuple[TensorType, ...]:
    types = site.attrs.definition.infer(site)
    if len(types) != len(site.attrs.definition.results):
        raise ValueError(f"{len(types)} types for {len(site.attrs.definition.results)} results")
    return types


def _reference(site: Site[Custom], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    definition = site.attrs.definition
    try:
        given = definition.reference(site, *arrays, *(None,) * (len(definition.roles) - len(arrays)))
    except Exception as error:
        raise TinyDeployError(
            f"its reference fails: {type(error).__name__}: {error}",
            where=f"operator {definition.op}",
            fix="Repair it",
        ) from error
    results = given if isinstance(given, tuple) else (given,)
    found = tuple(np.shape(result) for result in results)
    wanted = tuple(type_.shape for type_ in site.outputs)
    if found != wanted:
        raise TinyDeployError(
            f"the reference gives arrays of {[list(shape) for shape in found]}, "
            f"infer says {[list(shape) for shape in wanted]}",
            where=f"operator {definition.op}",
            fix="Repair one of them",
        )
    return tuple(
        np.asarray(result, type_.dtype.numpy) for result, type_ in zip(results, site.outputs, strict=True)
    )


def _missing(site: Site[Custom]) -> list[str]:
    roles = site.attrs.definition.roles
    missing = [role for index, role in enumerate(roles) if not role.endswith("?") and not site.has(index)]
    return missing + [f"{len(site.inputs)} inputs given"] * (len(site.inputs) > len(roles))


OP = Operator(
    attrs=Custom,
    roles=("first", "others*"),
    doc="an operator that a file of the user's defines: reference and C template",
    infer=_infer,
    reference=_reference,
    macs=lambda site: site.attrs.definition.macs(site),
    constraints=(
        Constraint(
            "the node has the inputs that the operator's definition names",
            lambda site: not _missing(site),
            lambda site: f"{', '.join(_missing(site))} of {', '.join(site.attrs.definition.roles)}",
            "repair the model, or mark optional inputs in the definition with ?",
            gate=True,
        ),
    ),
)
