"""Indices that a model computes when it runs: what they mean, also where they point outside.

An index below 0 counts from the end; what still lies outside is cut to the nearest place that exists, so
that no index reads or writes outside of a tensor.
"""

from __future__ import annotations

import numpy as np

from tinydeploy.fixed_point import Int64
from tinydeploy.ir import Array, DType
from tinydeploy.ops.base import AnyConstraint, AnySite, Constraint
from tinydeploy.ops.quantized import describe

INDEX_TYPES = (DType.INT32, DType.INT64)


def resolved(indices: Array, extent: int) -> Int64:
    """Places along an axis of ``extent`` elements, from indices of any value."""
    wide = indices.astype(np.int64)
    return np.asarray(np.clip(np.where(wide < 0, wide + extent, wide), 0, extent - 1), np.int64)


def index_constraint(position: int) -> AnyConstraint:
    """Input ``position`` holds indices."""

    def holds(site: AnySite) -> bool:
        return not site.has(position) or site.input(position).dtype in INDEX_TYPES

    return Constraint(
        "indices are int32 or int64",
        holds,
        lambda site: describe(site.input(position)),
        "cast the indices to int32 in the model",
        gate=True,
    )
