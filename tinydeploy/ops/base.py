"""What an operator is: attributes, shape inference, exact reference, cost, and the limits of its support."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from tinydeploy.errors import GraphError
from tinydeploy.ir import Array, Attrs, DType, Graph, TensorType

A = TypeVar("A", bound=Attrs)

MAX_OPERANDS = 32
"""Inputs that an operator of any number of inputs may have."""


@dataclass(frozen=True, slots=True)
class Site(Generic[A]):
    """One node with everything that is known before it runs: what rules and schedules look at.

    ``inputs`` holds None for an absent optional input; ``constants`` holds the data of constant inputs and
    None for the others.
    """

    name: str
    attrs: A
    inputs: tuple[TensorType | None, ...]
    outputs: tuple[TensorType, ...]
    constants: tuple[Array | None, ...]

    def input(self, index: int) -> TensorType:
        """Type of an input that must be there."""
        type_ = self.inputs[index] if index < len(self.inputs) else None
        if type_ is None:
            raise GraphError(f"input {index} is missing", where=f"node {self.name!r}")
        return type_

    def constant(self, index: int) -> Array | None:
        """Data of input ``index``, or None where it is absent or not constant."""
        return self.constants[index] if index < len(self.constants) else None

    def has(self, index: int) -> bool:
        return index < len(self.inputs) and self.inputs[index] is not None


@dataclass(frozen=True, slots=True)
class Constraint(Generic[A]):
    """One limit of support. ``holds`` is asked at import; ``doc`` also makes docs/SUPPORTED_OPS.md.

    ``got`` tells the offending figure for the message. The constraints behind a ``gate`` rely on it: they
    are not asked where it does not hold.
    """

    doc: str
    holds: Callable[[Site[A]], bool]
    got: Callable[[Site[A]], str]
    remedy: str
    gate: bool = False


@dataclass(frozen=True, slots=True)
class Operator(Generic[A]):
    """An operator of the graph.

    ``roles`` names the inputs; ``?`` marks optional ones, ``*`` a last one that repeats.
    ``infer`` gives the output types without quantization that the inputs imply; ``reference`` is the exact
    meaning, from input arrays (None where absent) to output arrays. The types at a node decide the
    arithmetic: exact integers where they are quantized, plain numbers where not. ``macs`` counts
    multiply-accumulates, padding taps included, as MLPerf Tiny does. A ``view`` computes nothing: its output
    is its first input's bytes.
    """

    attrs: type[A]
    roles: tuple[str, ...]
    doc: str
    infer: Callable[[Site[A]], tuple[TensorType, ...]]
    reference: Callable[[Site[A], tuple[Array | None, ...]], tuple[Array, ...]]
    macs: Callable[[Site[A]], int]
    constraints: tuple[Constraint[A], ...] = ()
    view: bool = False

    @property
    def name(self) -> str:
        return self.attrs.__name__


AnyOperator = Operator[Any]
AnySite = Site[Any]
AnyConstraint = Constraint[Any]


def site_of(graph: Graph, index: int) -> AnySite:
    """The site of node ``index``."""
    node = graph.nodes[index]
    return Site(
        node.name,
        node.attrs,
        tuple(None if value is None else graph.type(value) for value in node.inputs),
        tuple(graph.type(value) for value in node.outputs),
        tuple(
            None if value is None or not graph.values[value].is_constant else graph.array(value)
            for value in node.inputs
        ),
    )


def operand(arrays: tuple[Array | None, ...], index: int) -> Array:
    """The array of an input that must be there."""
    array = arrays[index] if index < len(arrays) else None
    if array is None:
        raise ValueError(f"input {index} is missing")
    return array


def is_plain(site: AnySite) -> bool:
    """Whether a node computes with numbers as they are: neither an input nor an output is quantized."""
    types = (*site.inputs, *site.outputs)
    return all(type_ is None or type_.quant is None for type_ in types)


def is_float(site: AnySite) -> bool:
    """Whether a node computes in float32: plain, and its first output is float32."""
    return is_plain(site) and site.outputs[0].dtype is DType.FLOAT32


def only(condition: Callable[[AnySite], bool], *constraints: AnyConstraint) -> tuple[AnyConstraint, ...]:
    """Constraints that matter only where ``condition`` holds: those of one kind of numbers."""

    def guarded(constraint: AnyConstraint) -> AnyConstraint:
        return dataclasses.replace(
            constraint, holds=lambda site: not condition(site) or constraint.holds(site)
        )

    return tuple(map(guarded, constraints))


def no_macs(_site: AnySite) -> int:
    """For operators without multiply-accumulates."""
    return 0
