"""What the scattering operators share: reductions, and limits of data, indices and updates."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np

from tinydeploy.fixed_point import Int64
from tinydeploy.ir import Array, DType
from tinydeploy.ops.base import AnyConstraint, AnySite, Constraint
from tinydeploy.ops.indexing import index_constraint
from tinydeploy.ops.movable import movable
from tinydeploy.ops.quantized import describe


class Reduction(Enum):
    """What an update does to the element at its place; integers wrap."""

    NONE = "none"
    ADD = "add"
    MUL = "mul"
    MIN = "min"
    MAX = "max"


def applied(data: Array, places: Sequence[Array | Int64], updates: Array, reduction: Reduction) -> Array:
    """A copy of ``data`` with each update at its place, in row-major order of the updates.

    ``places`` index all axes of ``data`` and broadcast to the shape of ``updates``.
    """
    result = data.copy()
    where = tuple(places)
    with np.errstate(over="ignore", invalid="ignore"):
        match reduction:
            case Reduction.NONE:
                spread = np.broadcast_arrays(*where, updates)
                flat = [part.reshape(-1) for part in spread]
                for index in range(flat[-1].size):
                    result[tuple(part[index] for part in flat[:-1])] = flat[-1][index]
            case Reduction.ADD:
                np.add.at(result, where, updates)
            case Reduction.MUL:
                np.multiply.at(result, where, updates)
            case Reduction.MIN:
                np.minimum.at(result, where, updates)
            case Reduction.MAX:
                np.maximum.at(result, where, updates)
    return result


def scatter_constraints() -> tuple[AnyConstraint, ...]:
    """Limits of operators with the inputs data, indices, updates and an attribute ``reduction``."""

    def alike(site: AnySite) -> bool:
        data, updates = site.input(0), site.input(2)
        return (data.dtype, data.quant) == (updates.dtype, updates.quant)

    def computes(site: AnySite) -> bool:
        data = site.input(0)
        return site.attrs.reduction is Reduction.NONE or (data.quant is None and data.dtype is not DType.BOOL)

    return (
        *movable(),
        index_constraint(1),
        Constraint(
            "data and updates have one type and quantization",
            alike,
            lambda site: f"{describe(site.input(0))} and {describe(site.input(2))}",
            "cast the updates in the model",
        ),
        Constraint(
            "where updates are added, multiplied or compared, the elements are plain numbers",
            computes,
            lambda site: f"{site.attrs.reduction.value} of {describe(site.input(0))}",
            "scatter before the model is quantized",
        ),
    )
