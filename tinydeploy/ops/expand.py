"""Expand: extents of 1 and absent leading extents repeat, as in numpy's broadcasting."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.movable import movable, size_constraint


@dataclass(frozen=True, slots=True)
class Expand(Attrs):
    """``shape`` is the output's: every extent of the input, where it is not 1, stands in it."""

    shape: tuple[int, ...]


def _infer(site: Site[Expand]) -> tuple[TensorType, ...]:
    return (TensorType(site.input(0).dtype, site.attrs.shape),)


def _reference(site: Site[Expand], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    return (np.ascontiguousarray(np.broadcast_to(operand(arrays, 0), site.attrs.shape)),)


def _fits(site: Site[Expand]) -> bool:
    source, shape = site.input(0).shape, site.attrs.shape
    if len(source) > len(shape):
        return False
    own = shape[len(shape) - len(source) :]
    return all(extent in (1, wanted) for extent, wanted in zip(source, own, strict=True))


OP = Operator(
    attrs=Expand,
    roles=("data",),
    doc="extents of 1 repeated",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        *movable(),
        size_constraint(),
        Constraint(
            "each extent of the input is that of the output, or 1, or absent at the front",
            _fits,
            lambda site: f"{list(site.input(0).shape)} to {list(site.attrs.shape)}",
            "repair the model",
        ),
    ),
)
