"""ScatterND: the input with slices changed, each at a vector of indices, which names its first axes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.indexing import resolved
from tinydeploy.ops.scatter import Reduction, applied, scatter_constraints


@dataclass(frozen=True, slots=True)
class ScatterND(Attrs):
    """``output[indices[i]] = updates[i]``, in the order of the updates."""

    reduction: Reduction = Reduction.NONE


def _infer(site: Site[ScatterND]) -> tuple[TensorType, ...]:
    return (TensorType(site.input(0).dtype, site.input(0).shape),)


def _reference(site: Site[ScatterND], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    data, indices, updates = (operand(arrays, index) for index in range(3))
    depth = indices.shape[-1]
    rest = data.shape[depth:]
    places: list[Array] = [
        resolved(indices[..., k], data.shape[k]).reshape(*indices.shape[:-1], *(1,) * len(rest))
        for k in range(depth)
    ]
    places += np.ix_(*map(range, rest))
    return (applied(data, places, updates, site.attrs.reduction),)


def _shapes_fit(site: Site[ScatterND]) -> bool:
    data, indices, updates = (site.input(index).shape for index in range(3))
    return (
        len(indices) >= 1
        and 1 <= indices[-1] <= len(data)
        and updates == (*indices[:-1], *data[indices[-1] :])
    )


OP = Operator(
    attrs=ScatterND,
    roles=("data", "indices", "updates"),
    doc="the input with a slice changed per vector of indices; those that lie outside are cut to the ends",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        *scatter_constraints(),
        Constraint(
            "the indices are vectors for the first axes of the data, with a slice of updates for each",
            _shapes_fit,
            lambda site: (
                f"{list(site.input(1).shape)} and {list(site.input(2).shape)} for {list(site.input(0).shape)}"
            ),
            "repair the model",
        ),
    ),
)
