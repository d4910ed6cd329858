"""OneHot: every index becomes an axis that holds one value at its place and another elsewhere."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.movable import size_constraint
from tinydeploy.ops.quantized import describe

INDEX_TYPES = (DType.INT8, DType.UINT8, DType.INT16, DType.INT32, DType.INT64, DType.FLOAT32)


@dataclass(frozen=True, slots=True)
class OneHot(Attrs):
    """The new axis of ``depth`` elements stands at ``axis``; input 1 holds the values (off, on).

    An index below 0 counts from the end where ``wraps``; one that lies outside leaves the axis without the
    second value.
    """

    axis: int
    depth: int
    wraps: bool = True


def _infer(site: Site[OneHot]) -> tuple[TensorType, ...]:
    axis, shape = site.attrs.axis, site.input(0).shape
    return (TensorType(site.input(1).dtype, (*shape[:axis], site.attrs.depth, *shape[axis:])),)


def _reference(site: Site[OneHot], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    indices, values, depth = operand(arrays, 0), operand(arrays, 1), site.attrs.depth
    inside = (indices > (-depth - 1 if site.attrs.wraps else -1)) & (indices < depth)
    places = np.where(inside, indices, 0).astype(np.int64)
    places = np.where(places < 0, places + depth, places)
    along = np.arange(depth).reshape(-1, *(1,) * (indices.ndim - site.attrs.axis))
    hot = (np.expand_dims(places, site.attrs.axis) == along) & np.expand_dims(inside, site.attrs.axis)
    return (np.where(hot, values[1], values[0]).astype(values.dtype),)


OP = Operator(
    attrs=OneHot,
    roles=("indices", "values"),
    doc="an axis with one value at an index and another elsewhere",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        size_constraint(),
        Constraint(
            "indices are integers or float32",
            lambda site: site.input(0).dtype in INDEX_TYPES and site.input(0).quant is None,
            lambda site: describe(site.input(0)),
            "cast the indices to int32 in the model",
        ),
        Constraint(
            "there are two values, of the output's type",
            lambda site: (
                site.input(1).shape == (2,)
                and (site.input(1).dtype, site.input(1).quant)
                == (site.outputs[0].dtype, site.outputs[0].quant)
                and site.input(1).dtype is not DType.INT4
            ),
            lambda site: f"{describe(site.input(1))} for {describe(site.outputs[0])}",
            "repair the model",
        ),
        Constraint(
            "the new axis stands between the others or at an end, and holds at least one element",
            lambda site: 0 <= site.attrs.axis <= len(site.input(0).shape) and site.attrs.depth >= 1,
            lambda site: f"axis {site.attrs.axis} of depth {site.attrs.depth}",
            "repair the model",
        ),
    ),
)
