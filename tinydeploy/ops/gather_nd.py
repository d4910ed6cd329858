"""GatherND: slices of the input at vectors of indices, which name its first axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.indexing import index_constraint, resolved
from tinydeploy.ops.movable import movable, size_constraint


@dataclass(frozen=True, slots=True)
class GatherND(Attrs):
    """The last axis of the indices is a vector of places on the axes after the first ``batch_dims``."""

    batch_dims: int = 0


def _infer(site: Site[GatherND]) -> tuple[TensorType, ...]:
    data, indices = site.input(0), site.input(1).shape
    return (TensorType(data.dtype, (*indices[:-1], *data.shape[site.attrs.batch_dims + indices[-1] :])),)


def _reference(site: Site[GatherND], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    data, indices, count = operand(arrays, 0), operand(arrays, 1), site.attrs.batch_dims
    places = [resolved(indices[..., k], data.shape[count + k]) for k in range(indices.shape[-1])]
    batches = np.ix_(*map(range, data.shape[:count]))
    middle = indices.ndim - 1 - count
    grids = [grid.reshape(*grid.shape, *(1,) * middle) for grid in batches]
    return (np.ascontiguousarray(data[(*grids, *places)]),)


def _shapes_fit(site: Site[GatherND]) -> bool:
    shape, indices, count = site.input(0).shape, site.input(1).shape, site.attrs.batch_dims
    return (
        len(indices) >= 1
        and 0 <= count < len(indices)
        and shape[:count] == indices[:count]
        and 1 <= indices[-1] <= len(shape) - count
    )


OP = Operator(
    attrs=GatherND,
    roles=("data", "indices"),
    doc="slices at vectors of indices; those that lie outside are cut to the ends",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        *movable(),
        size_constraint(),
        index_constraint(1),
        Constraint(
            "the indices have the batch axes of the data, then vectors for some of its other axes",
            _shapes_fit,
            lambda site: (
                f"{list(site.input(1).shape)} for {list(site.input(0).shape)}, "
                f"{site.attrs.batch_dims} batch axes"
            ),
            "repair the model",
        ),
    ),
)
