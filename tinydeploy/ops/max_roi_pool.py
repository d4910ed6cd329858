"""MaxRoiPool: for each region of an image a small image, of the largest pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import Int64
from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.movable import size_constraint
from tinydeploy.ops.quantized import describe
from tinydeploy.ops.window import Pair

FAR = 1 << 20
"""Places beyond are cut to it; no image is so large."""


@dataclass(frozen=True, slots=True)
class MaxRoiPool(Attrs):
    """The image is [N, H, W, C], the regions [R, 5] (image, left, top, right, bottom), both ends included.

    Numbers of regions are multiplied by ``scale`` and rounded, ties away from zero; bins that no pixel lies
    in hold 0.
    """

    size: Pair
    scale: float


def _whole(numbers: Array) -> Int64:
    """Rounded with ties away from zero, cut to what an image can have, NaN to the lowest."""
    rounded = np.trunc(numbers + np.copysign(np.float32(0.5), numbers))
    cut = np.where(rounded >= -FAR, np.where(rounded <= FAR, rounded, FAR), -FAR)
    return np.asarray(cut, np.int64)


def _bins(start: int, end: int, bins: int, extent: int) -> list[tuple[int, int]]:
    """The pixels [first, last) of each bin along an axis, in float32 as the generated C computes them."""
    size = np.float32(max(end - start + 1, 1)) / np.float32(bins)
    edges = [
        (int(np.floor(np.float32(k) * size)) + start, int(np.ceil(np.float32(k + 1) * size)) + start)
        for k in range(bins)
    ]
    return [(min(max(a, 0), extent), min(max(b, 0), extent)) for a, b in edges]


def _reference(site: Site[MaxRoiPool], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    image, regions = operand(arrays, 0), operand(arrays, 1)
    output = np.zeros(site.outputs[0].shape, np.float32)
    with np.errstate(invalid="ignore", over="ignore"):
        images = np.clip(_whole(regions[:, 0]), 0, image.shape[0] - 1)
        corners = _whole(regions[:, 1:] * np.float32(site.attrs.scale))
    for number, (left, top, right, bottom) in enumerate(corners.tolist()):
        for y, (first, last) in enumerate(_bins(top, bottom, site.attrs.size[0], image.shape[1])):
            for x, (begin, end) in enumerate(_bins(left, right, site.attrs.size[1], image.shape[2])):
                if first < last and begin < end:
                    pixels = image[images[number], first:last, begin:end]
                    output[number, y, x] = pixels.max(axis=(0, 1))
    return (output,)


def _infer(site: Site[MaxRoiPool]) -> tuple[TensorType, ...]:
    image, regions = site.input(0), site.input(1).shape
    return (TensorType(image.dtype, (regions[0], *site.attrs.size, image.shape[3])),)


def _shapes_fit(site: Site[MaxRoiPool]) -> bool:
    image, regions = site.input(0).shape, site.input(1).shape
    return len(image) == 4 and len(regions) == 2 and regions[1] == 5 and min(site.attrs.size) >= 1


OP = Operator(
    attrs=MaxRoiPool,
    roles=("image", "regions"),
    doc="for each region a small image of the largest pixels",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        size_constraint(),
        Constraint(
            "image and regions are float32",
            lambda site: all(site.input(index).dtype is DType.FLOAT32 for index in range(2)),
            lambda site: f"{describe(site.input(0))} and {describe(site.input(1))}",
            "keep this part of the model in float32",
        ),
        Constraint(
            "the image is [N, H, W, C], and there are five numbers per region",
            _shapes_fit,
            lambda site: f"{list(site.input(0).shape)} and {list(site.input(1).shape)}",
            "repair the model",
        ),
    ),
)
