"""ScatterElements: the input with elements changed, each at an index of its own along an axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.gather_elements import shapes_fit
from tinydeploy.ops.indexing import resolved
from tinydeploy.ops.scatter import Reduction, applied, scatter_constraints


@dataclass(frozen=True, slots=True)
class ScatterElements(Attrs):
    """``output[indices[i, j], j] = updates[i, j]`` for axis 0, in the order of the updates."""

    axis: int
    reduction: Reduction = Reduction.NONE


def _infer(site: Site[ScatterElements]) -> tuple[TensorType, ...]:
    return (TensorType(site.input(0).dtype, site.input(0).shape),)


def _reference(site: Site[ScatterElements], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    data, indices, updates = (operand(arrays, index) for index in range(3))
    places: list[Array] = list(np.ix_(*map(range, indices.shape)))
    places[site.attrs.axis] = resolved(indices, data.shape[site.attrs.axis])
    return (applied(data, places, updates, site.attrs.reduction),)


def _shapes_fit(site: Site[ScatterElements]) -> bool:
    data, indices, updates = (site.input(index).shape for index in range(3))
    return indices == updates and shapes_fit(data, indices, site.attrs.axis)


OP = Operator(
    attrs=ScatterElements,
    roles=("data", "indices", "updates"),
    doc="the input with an element changed per index; indices that lie outside are cut to the ends",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        *scatter_constraints(),
        Constraint(
            "there is an index for each update, on axes of the data and no longer than they are",
            _shapes_fit,
            lambda site: (
                f"{list(site.input(1).shape)} and {list(site.input(2).shape)} "
                f"for {list(site.input(0).shape)}, axis {site.attrs.axis}"
            ),
            "repair the model",
        ),
    ),
)
