"""Pad: a border of one value, or of the data again; paddings below 0 cut off."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from tinydeploy.fixed_point import Int64
from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.movable import movable, size_constraint
from tinydeploy.ops.window import Pair


class Border(Enum):
    """What stands outside: a value; the data mirrored without, or with, its outermost element; that element
    again; the data from its other end."""

    CONSTANT = "constant"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"
    EDGE = "edge"
    WRAP = "wrap"


@dataclass(frozen=True, slots=True)
class Pad(Attrs):
    """``padding[i]`` is (before, after) along axis i; numbers below 0 cut off as many elements.

    ``value`` is what a constant border holds: a step where the data is quantized, else a number.
    """

    padding: tuple[Pair, ...]
    border: Border = Border.CONSTANT
    value: int | float = 0


def places_along(extent: int, pair: Pair, border: Border) -> Int64:
    """The place in the input that each element along an axis shows; -1 in a constant border."""
    before, after = pair
    kept = np.arange(max(-before, 0), extent - max(-after, 0))
    widths = (max(before, 0), max(after, 0))
    if border is Border.CONSTANT:
        return np.asarray(np.pad(kept, widths, constant_values=-1), np.int64)
    modes = {
        Border.REFLECT: "reflect",
        Border.SYMMETRIC: "symmetric",
        Border.EDGE: "edge",
        Border.WRAP: "wrap",
    }
    return np.asarray(np.pad(kept, widths, mode=modes[border]), np.int64)  # type: ignore[call-overload]


def _infer(site: Site[Pad]) -> tuple[TensorType, ...]:
    pairs = zip(site.attrs.padding, site.input(0).shape, strict=True)
    return (TensorType(site.input(0).dtype, tuple(a + extent + b for (a, b), extent in pairs)),)


def _reference(site: Site[Pad], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    data, attrs = operand(arrays, 0), site.attrs
    result = data
    outside = np.zeros(site.outputs[0].shape, bool)
    for axis, (pair, extent) in enumerate(zip(attrs.padding, data.shape, strict=True)):
        places = places_along(extent, pair, attrs.border)
        result = result.take(places, axis=axis, mode="clip")
        outside |= (places < 0).reshape(-1, *(1,) * (data.ndim - 1 - axis))
    return (np.where(outside, np.array(attrs.value, data.dtype), result),)


def _pairs_fit(site: Site[Pad]) -> bool:
    spare = 2 if site.attrs.border is Border.REFLECT else 1
    return len(site.attrs.padding) == len(site.input(0).shape) and all(
        extent + min(before, 0) + min(after, 0) >= (spare if max(before, after) > 0 else 1)
        for (before, after), extent in zip(site.attrs.padding, site.input(0).shape, strict=True)
    )


def _value_fits(site: Site[Pad]) -> bool:
    value, dtype = site.attrs.value, site.input(0).dtype
    if site.attrs.border is not Border.CONSTANT:
        return True
    if not dtype.is_integer:
        return not math.isnan(value)
    low, high = dtype.limits
    return isinstance(value, int) and low <= value <= high


OP = Operator(
    attrs=Pad,
    roles=("data",),
    doc="a border of one value, or of the data again; or less of the data",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        *movable(),
        size_constraint(),
        Constraint(
            "there is a pair of paddings for each axis that leaves data, two elements where it is mirrored",
            _pairs_fit,
            lambda site: f"{list(site.attrs.padding)} for {list(site.input(0).shape)}",
            "repair the model",
        ),
        Constraint(
            "the border's value is one of the element type",
            _value_fits,
            lambda site: f"{site.attrs.value} in {site.input(0).dtype.value}",
            "pad with a value that the tensor can hold",
        ),
    ),
)
