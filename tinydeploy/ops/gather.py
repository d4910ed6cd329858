"""Gather: slices of the input at indices along an axis, constant ones or such that the model computes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.indexing import index_constraint, resolved
from tinydeploy.ops.movable import movable, size_constraint


@dataclass(frozen=True, slots=True)
class Gather(Attrs):
    """The shape of the indices stands in the output in the place of ``axis``.

    Constant indices are ``indices`` of shape ``shape``; where that is None they are input 1, and their first
    ``batch_dims`` axes are those of the data, each with indices of its own.
    """

    axis: int
    indices: tuple[int, ...] | None = None
    shape: tuple[int, ...] = ()
    batch_dims: int = 0


def _shape(site: Site[Gather]) -> tuple[int, ...]:
    """The extents that stand in the place of the axis."""
    attrs = site.attrs
    return attrs.shape if attrs.indices is not None else site.input(1).shape[attrs.batch_dims :]


def _infer(site: Site[Gather]) -> tuple[TensorType, ...]:
    axis, shape = site.attrs.axis, site.input(0).shape
    return (TensorType(site.input(0).dtype, (*shape[:axis], *_shape(site), *shape[axis + 1 :])),)


def _reference(site: Site[Gather], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    attrs, data = site.attrs, operand(arrays, 0)
    if attrs.indices is not None:
        return (data.take(attrs.indices, axis=attrs.axis).reshape(site.outputs[0].shape),)
    places, count = resolved(operand(arrays, 1), data.shape[attrs.axis]), attrs.batch_dims
    taken = [
        data[batch].take(places[batch], axis=attrs.axis - count) for batch in np.ndindex(data.shape[:count])
    ]
    return (np.stack(taken).reshape(site.outputs[0].shape),)


def _on_the_axis(site: Site[Gather]) -> bool:
    attrs, shape = site.attrs, site.input(0).shape
    if not 0 <= attrs.axis < len(shape):
        return False
    return attrs.indices is None or all(0 <= index < shape[attrs.axis] for index in attrs.indices)


def _indices_fit(site: Site[Gather]) -> bool:
    attrs = site.attrs
    if attrs.indices is not None:
        return len(site.inputs) == 1 and attrs.batch_dims == 0
    count = attrs.batch_dims
    return (
        site.has(1)
        and 0 <= count <= attrs.axis
        and site.input(1).shape[:count] == site.input(0).shape[:count]
    )


OP = Operator(
    attrs=Gather,
    roles=("data", "indices?"),
    doc="slices at indices along an axis; computed ones that lie outside are cut to the ends",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        *movable(),
        size_constraint(),
        index_constraint(1),
        Constraint(
            "the axis is one of the input, and every constant index lies on it",
            _on_the_axis,
            lambda site: f"axis {site.attrs.axis} of {list(site.input(0).shape)}",
            "repair the model",
        ),
        Constraint(
            "the indices are attributes or an input, whose batch axes are those of the data",
            _indices_fit,
            lambda site: f"{len(site.inputs)} inputs, {site.attrs.batch_dims} batch axes",
            "repair the model",
        ),
    ),
)
