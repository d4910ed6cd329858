"""TopK: the k largest or smallest plain elements along one axis, and where they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import AnySite, Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.plain import NUMBERS, not_quantized, plain_types
from tinydeploy.ops.reduction import axis_constraint


@dataclass(frozen=True, slots=True)
class TopK(Attrs):
    """The best first, of equals the one with the lower index; ``index`` is the type of the indices."""

    k: int
    axis: int
    largest: bool = True
    index: DType = DType.INT64


def _infer(site: Site[TopK]) -> tuple[TensorType, ...]:
    attrs, data = site.attrs, site.input(0)
    shape = (*data.shape[: attrs.axis], attrs.k, *data.shape[attrs.axis + 1 :])
    return TensorType(data.dtype, shape), TensorType(attrs.index, shape)


def _reference(site: Site[TopK], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    attrs, data = site.attrs, operand(arrays, 0)
    # A stable sort from best to worst; the inverse of an integer falls where it grows, and always exists.
    falling = np.invert(data) if data.dtype.kind in "iu" else -data
    key = falling if attrs.largest else data
    order = np.argsort(key, axis=attrs.axis, kind="stable")
    places = np.take(order, np.arange(attrs.k), axis=attrs.axis)
    return np.take_along_axis(data, places, attrs.axis), places.astype(attrs.index.numpy)


def _fits(site: AnySite) -> bool:
    return bool(1 <= site.attrs.k <= site.input(0).shape[site.attrs.axis])


OP = Operator(
    attrs=TopK,
    roles=("data",),
    doc="the largest or smallest elements along one axis, and their indices",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        not_quantized(),
        *plain_types(NUMBERS, 0),
        axis_constraint(),
        Constraint(
            "k is at least 1 and at most the extent of the axis, and indices are int32 or int64",
            lambda site: _fits(site) and site.attrs.index in (DType.INT32, DType.INT64),
            lambda site: f"k {site.attrs.k} of {list(site.input(0).shape)}, {site.attrs.index.value}",
            "repair the model",
        ),
    ),
)
