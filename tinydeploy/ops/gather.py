"""Gather: slices of the input at constant indices along an axis."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.movement import movable, size_constraint


@dataclass(frozen=True, slots=True)
class Gather(Attrs):
    """``shape``, the shape of the indices, stands in the output in the place of ``axis``."""

    axis: int
    indices: tuple[int, ...]
    shape: tuple[int, ...]


def _infer(site: Site[Gather]) -> tuple[TensorType, ...]:
    attrs, shape = site.attrs, site.input(0).shape
    result = (*shape[: attrs.axis], *attrs.shape, *shape[attrs.axis + 1 :])
    return (TensorType(site.input(0).dtype, result),)


def _reference(site: Site[Gather], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    taken = operand(arrays, 0).take(site.attrs.indices, axis=site.attrs.axis)
    return (taken.reshape(site.outputs[0].shape),)


OP = Operator(
    attrs=Gather,
    roles=("data",),
    doc="slices at constant indices along an axis",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        *movable(),
        size_constraint(),
        Constraint(
            "the axis is one of the input, and every index lies on it",
            lambda site: (
                0 <= site.attrs.axis < len(site.input(0).shape)
                and all(0 <= index < site.input(0).shape[site.attrs.axis] for index in site.attrs.indices)
            ),
            lambda site: f"axis {site.attrs.axis} of {list(site.input(0).shape)}",
            "repair the model",
        ),
    ),
)
