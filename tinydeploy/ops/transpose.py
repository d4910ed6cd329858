"""Transpose: axes in another order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.movable import movable


@dataclass(frozen=True, slots=True)
class Transpose(Attrs):
    """Axis i of the output is axis ``order[i]`` of the input."""

    order: tuple[int, ...]


def _infer(site: Site[Transpose]) -> tuple[TensorType, ...]:
    shape = site.input(0).shape
    return (TensorType(site.input(0).dtype, tuple(shape[axis] for axis in site.attrs.order)),)


def _reference(site: Site[Transpose], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    return (np.ascontiguousarray(operand(arrays, 0).transpose(site.attrs.order)),)


OP = Operator(
    attrs=Transpose,
    roles=("data",),
    doc="axes in another order",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        *movable(),
        Constraint(
            "the order names every axis once",
            lambda site: sorted(site.attrs.order) == list(range(len(site.input(0).shape))),
            lambda site: f"{list(site.attrs.order)} for {list(site.input(0).shape)}",
            "repair the model",
        ),
    ),
)
