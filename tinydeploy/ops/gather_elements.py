"""GatherElements: every element of the output is one of the input, at an index of its own along an axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.indexing import index_constraint, resolved
from tinydeploy.ops.movable import movable


@dataclass(frozen=True, slots=True)
class GatherElements(Attrs):
    """``output[i, j] = data[indices[i, j], j]`` for axis 0; the output has the shape of the indices."""

    axis: int


def _infer(site: Site[GatherElements]) -> tuple[TensorType, ...]:
    return (TensorType(site.input(0).dtype, site.input(1).shape),)


def _reference(site: Site[GatherElements], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    data, axis = operand(arrays, 0), site.attrs.axis
    places = resolved(operand(arrays, 1), data.shape[axis])
    cut = tuple(slice(None) if index == axis else slice(extent) for index, extent in enumerate(places.shape))
    return (np.take_along_axis(data[cut], places, axis),)


def shapes_fit(shape: tuple[int, ...], indices: tuple[int, ...], axis: int) -> bool:
    """Whether indices, one per element, lie inside the data on all axes but ``axis``."""
    return (
        len(shape) == len(indices)
        and 0 <= axis < len(shape)
        and all(a <= b for index, (a, b) in enumerate(zip(indices, shape, strict=True)) if index != axis)
    )


OP = Operator(
    attrs=GatherElements,
    roles=("data", "indices"),
    doc="an element per index along an axis; indices that lie outside are cut to the ends",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        *movable(),
        index_constraint(1),
        Constraint(
            "the indices have the rank of the data and are no longer on the other axes",
            lambda site: shapes_fit(site.input(0).shape, site.input(1).shape, site.attrs.axis),
            lambda site: (
                f"{list(site.input(1).shape)} for {list(site.input(0).shape)}, axis {site.attrs.axis}"
            ),
            "repair the model",
        ),
    ),
)
