"""RoiAlign: for each region of an image a small image, of samples between its pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.indexing import index_constraint, resolved
from tinydeploy.ops.movable import size_constraint
from tinydeploy.ops.quantized import describe
from tinydeploy.ops.window import Pair

MAX_SAMPLES = 64
"""Samples along one side of a bin that the size of a region can ask for."""


@dataclass(frozen=True, slots=True)
class RoiAlign(Attrs):
    """The image is [N, H, W, C], the regions [R, 4] (left, top, right, bottom), input 2 names their images.

    Each of ``size`` bins is the mean, or with ``maximum`` the largest weighted pixel, of ``samples`` x
    ``samples`` samples; 0 asks for one per pixel, at most 64. With ``half_pixel`` places are moved by half a
    pixel.
    """

    size: Pair
    samples: int
    scale: float
    half_pixel: bool = True
    maximum: bool = False


def _sampled(attrs: RoiAlign, start: np.float32, length: np.float32, bins: int, extent: int) -> list[Array]:
    """For each bin (lower pixel, upper pixel, weight of the upper, inside) of its samples, in float32."""
    size = np.float32(length) / np.float32(bins)
    count = attrs.samples
    if count == 0:
        asked = np.ceil(size)
        count = int(asked) if 0 < asked <= MAX_SAMPLES else (MAX_SAMPLES if asked > 0 else 0)
    result = []
    for index in range(bins):
        steps = (np.arange(count, dtype=np.float32) + np.float32(0.5)) * size / np.float32(max(count, 1))
        places = start + np.float32(index) * size + steps
        inside = (places >= -1) & (places <= extent)
        cut = np.where(inside, np.maximum(places, np.float32(0)), np.float32(0))
        lower = np.minimum(cut.astype(np.int64), extent - 1)
        upper = np.minimum(lower + 1, extent - 1)
        weight = np.where(lower < upper, cut - lower.astype(np.float32), 0)
        result.append(np.stack([lower, upper, weight, inside]).astype(np.float64))
    return result


def _reference(site: Site[RoiAlign], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    attrs = site.attrs
    image, regions, batches = (operand(arrays, index) for index in range(3))
    images = resolved(batches, image.shape[0])
    output = np.zeros(site.outputs[0].shape)
    offset = np.float32(0.5 if attrs.half_pixel else 0.0)
    with np.errstate(invalid="ignore", over="ignore"):
        for number, region in enumerate(regions.astype(np.float32)):
            left, top, right, bottom = region * np.float32(attrs.scale) - offset
            sizes = [bottom - top, right - left]
            if not attrs.half_pixel:
                sizes = [np.where(side >= 1, side, np.float32(1)) for side in sizes]
            rows = _sampled(attrs, top, sizes[0], attrs.size[0], image.shape[1])
            columns = _sampled(attrs, left, sizes[1], attrs.size[1], image.shape[2])
            pixels = image[images[number]].astype(np.float64)
            for y, row in enumerate(rows):
                for x, column in enumerate(columns):
                    output[number, y, x] = _bin(pixels, row, column, maximum=attrs.maximum)
    return (output.astype(np.float32),)


def _bin(pixels: Array, row: Array, column: Array, *, maximum: bool) -> Array:
    """One bin of all channels."""
    inside = row[3][:, None] * column[3]
    parts = []
    for rows, down in ((row[0], 1 - row[2]), (row[1], row[2])):
        for columns, across in ((column[0], 1 - column[2]), (column[1], column[2])):
            weight = down[:, None] * across * inside
            taken = pixels[rows.astype(np.int64)][:, columns.astype(np.int64)]
            parts.append(taken * weight[..., None])
    if not parts[0].size:
        return np.zeros(pixels.shape[-1])
    if maximum:
        return np.asarray(np.max(parts, axis=(0, 1, 2)))
    return np.asarray(np.sum(parts, axis=(0, 1, 2)) / inside.size)


def _infer(site: Site[RoiAlign]) -> tuple[TensorType, ...]:
    image, regions = site.input(0), site.input(1).shape
    return (TensorType(image.dtype, (regions[0], *site.attrs.size, image.shape[3])),)


def _shapes_fit(site: Site[RoiAlign]) -> bool:
    image, regions, batches = (site.input(index).shape for index in range(3))
    return len(image) == 4 and len(regions) == 2 and regions[1] == 4 and batches == regions[:1]


OP = Operator(
    attrs=RoiAlign,
    roles=("image", "regions", "images"),
    doc="for each region a small image of samples between pixels",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        size_constraint(),
        index_constraint(2),
        Constraint(
            "image and regions are float32",
            lambda site: all(site.input(index).dtype is DType.FLOAT32 for index in range(2)),
            lambda site: f"{describe(site.input(0))} and {describe(site.input(1))}",
            "keep this part of the model in float32",
        ),
        Constraint(
            "the image is [N, H, W, C], and there are four numbers and an image's number per region",
            _shapes_fit,
            lambda site: ", ".join(str(list(site.input(index).shape)) for index in range(3)),
            "repair the model",
        ),
        Constraint(
            f"bins hold up to {MAX_SAMPLES} x {MAX_SAMPLES} samples",
            lambda site: 0 <= site.attrs.samples <= MAX_SAMPLES and min(site.attrs.size) >= 1,
            lambda site: f"{site.attrs.samples} samples in {list(site.attrs.size)} bins",
            "ask for fewer samples",
        ),
    ),
)
