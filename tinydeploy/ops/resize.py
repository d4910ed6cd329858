"""Resize: images of another size, by the nearest pixel or between four, in TFLite's arithmetic."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from tinydeploy.fixed_point import Int64
from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, is_plain, no_macs, operand
from tinydeploy.ops.movable import movable, size_constraint
from tinydeploy.ops.quantized import describe, is_int8
from tinydeploy.ops.window import Pair

BITS = 10
"""Fractional bits of a bilinear position."""


class Method(Enum):
    """How an output pixel comes from input pixels."""

    NEAREST = "nearest"
    BILINEAR = "bilinear"


@dataclass(frozen=True, slots=True)
class Resize(Attrs):
    """``size`` is (height, width) of the output. The two flags are TensorFlow's."""

    size: Pair
    method: Method
    align_corners: bool = False
    half_pixel_centers: bool = False


@dataclass(frozen=True, slots=True)
class Position:
    """Along one axis, per output: the two input places and the weight of the second in 1/1024."""

    lower: Int64
    upper: Int64
    weight: Int64


def nearest(attrs: Resize, source: int, target: int) -> Int64:
    """The input place of each output along one axis; computed in float32 as TFLite does."""
    if attrs.align_corners and target > 1:
        scale = np.float32(source - 1) / np.float32(target - 1)
    else:
        scale = np.float32(source) / np.float32(target)
    offset = np.float32(0.5 if attrs.half_pixel_centers else 0.0)
    places = (np.arange(target).astype(np.float32) + offset) * scale
    whole = np.floor(places)
    if attrs.align_corners:
        whole = whole + (places - whole >= np.float32(0.5))
    return np.asarray(np.clip(whole, 0, source - 1), np.int64)


def bilinear(attrs: Resize, source: int, target: int) -> Position:
    """The input places and weights of each output along one axis."""
    one = 1 << BITS
    if attrs.align_corners and target > 1:
        scale = (one * (source - 1) + (target - 1) // 2) // (target - 1)
    else:
        scale = (one * source + target // 2) // target
    places = np.arange(target, dtype=np.int64) * scale
    if attrs.half_pixel_centers:
        places = places + scale // 2 - one // 2
    # C's division, towards zero.
    lower = np.maximum(np.trunc(places / one).astype(np.int64), 0)
    upper = np.minimum(np.trunc((places + one - 1) / one).astype(np.int64), source - 1)
    return Position(lower, upper, places - lower * one)


def real_bilinear(attrs: Resize, source: int, target: int) -> tuple[Int64, Int64, Array]:
    """The same for float32: lower and upper places, and the weight of the upper, in float32."""
    if attrs.align_corners and target > 1:
        scale = np.float32(source - 1) / np.float32(target - 1)
    else:
        scale = np.float32(source) / np.float32(target)
    places = np.arange(target).astype(np.float32)
    if attrs.half_pixel_centers:
        places = (places + np.float32(0.5)) * scale - np.float32(0.5)
    else:
        places = places * scale
    lower = np.maximum(np.floor(places), 0).astype(np.int64)
    upper = np.minimum(np.ceil(places), source - 1).astype(np.int64)
    return lower, np.maximum(upper, 0), places - lower.astype(np.float32)


def _real_reference(attrs: Resize, image: Array) -> Array:
    wide = image.astype(np.float64)
    for axis, target in ((1, attrs.size[0]), (2, attrs.size[1])):
        lower, upper, weight = real_bilinear(attrs, wide.shape[axis], target)
        along = weight.astype(np.float64).reshape(-1, *(1,) * (3 - axis))
        wide = wide.take(lower, axis=axis) * (1 - along) + wide.take(upper, axis=axis) * along
    return wide.astype(np.float32)


def _infer(site: Site[Resize]) -> tuple[TensorType, ...]:
    batch, _, _, channels = site.input(0).shape
    return (TensorType(site.input(0).dtype, (batch, *site.attrs.size, channels)),)


def _reference(site: Site[Resize], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    attrs, image = site.attrs, operand(arrays, 0)
    _, height, width, _ = image.shape
    if attrs.method is Method.NEAREST:
        rows, columns = nearest(attrs, height, attrs.size[0]), nearest(attrs, width, attrs.size[1])
        return (image.take(rows, axis=1).take(columns, axis=2),)
    if image.dtype == np.float32:
        return (_real_reference(attrs, image),)
    vertical, horizontal = bilinear(attrs, height, attrs.size[0]), bilinear(attrs, width, attrs.size[1])
    total = np.zeros(site.outputs[0].shape, np.int64)
    one = 1 << BITS
    for rows, row_weight in ((vertical.lower, one - vertical.weight), (vertical.upper, vertical.weight)):
        for columns, weight in (
            (horizontal.lower, one - horizontal.weight),
            (horizontal.upper, horizontal.weight),
        ):
            pixels = image.take(rows, axis=1).take(columns, axis=2).astype(np.int64)
            total += pixels * row_weight[:, None, None] * weight[:, None]
    # Rounded to nearest, ties away from zero; nothing at all goes to zero.
    steps = np.where(total > 0, (total + (1 << 19)) >> 20, -((-total + (1 << 19)) >> 20))
    return (steps.astype(np.int8),)


def _size_fits(site: Site[Resize]) -> bool:
    return len(site.input(0).shape) == 4 and min(site.attrs.size) >= 1 and max(site.attrs.size) < 1 << 16


OP = Operator(
    attrs=Resize,
    roles=("data",),
    doc="images of another size, by the nearest pixel or between four",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        *movable(),
        size_constraint(),
        Constraint(
            "the input is an image [N, H, W, C]",
            _size_fits,
            lambda site: f"{list(site.input(0).shape)} to {list(site.attrs.size)}",
            "repair the model",
            gate=True,
        ),
        Constraint(
            "between four pixels, the input is float32, or int8 with fewer than 2**20 rows and columns",
            lambda site: (
                site.attrs.method is Method.NEAREST
                or (site.input(0).dtype is DType.FLOAT32 and is_plain(site))
                or (is_int8(site.input(0)) and math.prod(site.input(0).shape[1:3]) < 1 << 20)
            ),
            lambda site: describe(site.input(0)),
            "convert the model with full int8 quantization, or leave it in float32",
        ),
        Constraint(
            "not both: aligned corners and half-pixel centres",
            lambda site: not (site.attrs.align_corners and site.attrs.half_pixel_centers),
            lambda _site: "both",
            "choose one in the model",
        ),
    ),
)
