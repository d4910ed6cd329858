"""GridSample: an image read at places that the model computes, between its pixels."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from tinydeploy.fixed_point import Int64
from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.movable import size_constraint
from tinydeploy.ops.quantized import describe

Float32 = npt.NDArray[np.float32]

CUBIC = -0.75
"""The slope of the cubic filter."""


class Sampling(Enum):
    """Which pixels around a place count: the nearest, the two along each axis, or the four."""

    NEAREST = "nearest"
    LINEAR = "linear"
    CUBIC = "cubic"


class Outside(Enum):
    """What lies outside of the image: zeros, its outermost pixels, or the image mirrored."""

    ZEROS = "zeros"
    BORDER = "border"
    REFLECTION = "reflection"


@dataclass(frozen=True, slots=True)
class GridSample(Attrs):
    """The image is [N, spatial..., C], with 1 to 3 spatial axes, the grid [N, places..., axes].

    A grid's numbers go from -1 to 1 across the image, the last spatial axis first: from the centres of the
    outermost pixels with ``align_corners``, else from their outer edges. NaN lies outside.
    """

    sampling: Sampling
    outside: Outside
    align_corners: bool = False


def _places(site: Site[GridSample], grid: Float32, extent: int) -> Float32:
    """Places along an axis of ``extent`` pixels, in float32 as the generated C computes them."""
    attrs, one, half = site.attrs, np.float32(1), np.float32(0.5)
    if attrs.align_corners:
        places = (grid + one) * half * np.float32(extent - 1)
    else:
        places = ((grid + one) * np.float32(extent) - one) * half
    if attrs.sampling is Sampling.NEAREST:
        places = np.rint(places)
    low, high = (0.0, extent - 1.0) if attrs.align_corners else (-0.5, extent - 0.5)
    if attrs.outside is Outside.REFLECTION:
        period = np.float32(2 * (high - low))
        if period > 0:
            walked = np.fmod(np.abs(places - np.float32(low)), period)
            walked = np.where(walked > period * half, period - walked, walked)
            places = np.where((places < low) | (places > high), np.float32(low) + walked, places)
        else:
            places = np.zeros_like(places)
    lowest, highest = (0, extent - 1) if attrs.outside is Outside.BORDER else (-3, extent + 2)
    cut = np.where(places >= lowest, np.where(places <= highest, places, highest), lowest)
    return np.asarray(cut, np.float32)


def _weights(sampling: Sampling, fraction: Array) -> tuple[int, list[Array]]:
    """The first tap, relative to the place rounded down, and the weights of all."""
    if sampling is Sampling.NEAREST:
        return 0, [np.ones_like(fraction)]
    if sampling is Sampling.LINEAR:
        return 0, [1 - fraction, fraction]

    def far(x: Array) -> Array:
        return ((CUBIC * x - 5 * CUBIC) * x + 8 * CUBIC) * x - 4 * CUBIC

    def near(x: Array) -> Array:
        return ((CUBIC + 2) * x - (CUBIC + 3)) * x * x + 1

    return -1, [far(fraction + 1), near(fraction), near(1 - fraction), far(2 - fraction)]


def _pixels(site: Site[GridSample], taps: Int64, extent: int) -> tuple[Int64, Array]:
    """The pixel that each tap reads, and whether there is one."""
    if site.attrs.outside is Outside.ZEROS:
        inside = (taps >= 0) & (taps < extent)
        return np.where(inside, taps, 0), inside
    if site.attrs.outside is Outside.REFLECTION:
        period = 2 * extent - 2 if site.attrs.align_corners else 2 * extent
        walked = taps % period if period else taps * 0
        mirrored = period - walked - (0 if site.attrs.align_corners else 1)
        taps = np.where(walked < extent, walked, mirrored)
    return np.clip(taps, 0, extent - 1), np.ones(taps.shape, bool)


def _reference(site: Site[GridSample], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    image, grid = operand(arrays, 0).astype(np.float64), operand(arrays, 1)
    extents = image.shape[1:-1]
    batch = np.arange(image.shape[0]).reshape(-1, *(1,) * (grid.ndim - 2))
    choices: list[list[tuple[Int64, Array]]] = []
    with np.errstate(invalid="ignore", over="ignore"):
        for axis, extent in enumerate(extents):
            places = _places(site, grid[..., len(extents) - 1 - axis], extent)
            base = np.floor(places).astype(np.int64)
            first, weights = _weights(site.attrs.sampling, (places - np.floor(places)).astype(np.float64))
            taps = [_pixels(site, base + first + k, extent) for k in range(len(weights))]
            choices.append(
                [(pixel, weight * inside) for (pixel, inside), weight in zip(taps, weights, strict=True)]
            )
    total = np.zeros(site.outputs[0].shape)
    for taken in itertools.product(*choices):
        weight = np.prod([weight for _, weight in taken], axis=0)
        total += image[(batch, *(pixel for pixel, _ in taken))] * weight[..., None]
    return (total.astype(np.float32),)


def _infer(site: Site[GridSample]) -> tuple[TensorType, ...]:
    image, grid = site.input(0), site.input(1).shape
    return (TensorType(image.dtype, (*grid[:-1], image.shape[-1])),)


def _shapes_fit(site: Site[GridSample]) -> bool:
    image, grid = site.input(0).shape, site.input(1).shape
    axes = len(image) - 2
    return 1 <= axes <= 3 and len(grid) == axes + 2 and grid[-1] == axes and grid[0] == image[0]


OP = Operator(
    attrs=GridSample,
    roles=("image", "grid"),
    doc="an image read at computed places, between its pixels",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        size_constraint(),
        Constraint(
            "image and grid are float32",
            lambda site: all(site.input(index).dtype is DType.FLOAT32 for index in range(2)),
            lambda site: f"{describe(site.input(0))} and {describe(site.input(1))}",
            "keep this part of the model in float32",
        ),
        Constraint(
            "the image has 1 to 3 spatial axes, and the grid as many numbers per place",
            _shapes_fit,
            lambda site: f"{list(site.input(0).shape)} and {list(site.input(1).shape)}",
            "repair the model",
        ),
    ),
)
