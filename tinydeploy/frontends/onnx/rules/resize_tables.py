"""Where the outputs of ONNX's Resize lie between its inputs, and what each input weighs; along one axis."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tinydeploy.fixed_point import Int64

Float64 = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Stretch:
    """One axis: ``source`` elements become ``target``; ``scale`` is the ratio asked for, not always theirs.

    ``region`` is the part of the axis, from 0 to 1, that tf_crop_and_resize shows.
    """

    source: int
    target: int
    scale: float
    region: tuple[float, float] = (0.0, 1.0)


COORDINATES = (
    "half_pixel",
    "half_pixel_symmetric",
    "pytorch_half_pixel",
    "align_corners",
    "asymmetric",
    "tf_crop_and_resize",
    "tf_half_pixel_for_nn",
)
ROUNDINGS = ("round_prefer_floor", "round_prefer_ceil", "floor", "ceil")


def positions(stretch: Stretch, mode: str) -> Float64:
    """The place on the input's axis, between elements, of each output (coordinate_transformation_mode)."""
    index = np.arange(stretch.target, dtype=np.float64)
    length = stretch.scale * stretch.source
    match mode:
        case "asymmetric":
            return index / stretch.scale
        case "align_corners":
            return index * 0.0 if length == 1 else index * (stretch.source - 1) / (length - 1)
        case "tf_crop_and_resize":
            start, end = stretch.region
            span = (end - start) * (stretch.source - 1)
            inner = index * 0.0 + span / 2 if length == 1 else index * span / (length - 1)
            return inner + start * (stretch.source - 1)
        case "tf_half_pixel_for_nn":
            return (index + 0.5) / stretch.scale
        case "pytorch_half_pixel" if length == 1:
            return index * 0.0 - 0.5
        case "half_pixel_symmetric":
            offset = stretch.source / 2 * (1 - stretch.target / length)
            return offset + (index + 0.5) / stretch.scale - 0.5
    return (index + 0.5) / stretch.scale - 0.5


def nearest(places: Float64, source: int, rounding: str) -> Int64:
    """The element that each output shows (nearest_mode)."""
    match rounding:
        case "floor":
            chosen = np.floor(places)
        case "ceil":
            chosen = np.ceil(places)
        case "round_prefer_ceil":
            chosen = np.floor(places + 0.5)
        case _:
            chosen = np.ceil(places - 0.5)
    return np.asarray(np.clip(chosen, 0, source - 1), np.int64)


def _triangle(distance: Float64) -> Float64:
    return np.asarray(np.maximum(1 - np.abs(distance), 0), np.float64)


def _cubic(distance: Float64, a: float) -> Float64:
    x = np.abs(distance)
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return np.where(x <= 1, near, np.where(x < 2, far, 0.0))


@dataclass(frozen=True, slots=True)
class Filter:
    """How far elements count. ``antialias`` widens the filter where the axis becomes shorter;
    ``inside_only`` shares what elements outside would weigh among those inside."""

    cubic: bool
    a: float = -0.75
    antialias: bool = False
    inside_only: bool = False


def weighted(places: Float64, stretch: Stretch, chosen: Filter) -> tuple[Int64, Float64]:
    """Places [size, taps] and weights of the elements around each output; outside the outermost repeats."""
    factor = min(stretch.scale, 1.0) if chosen.antialias else 1.0
    reach = math.ceil((2 if chosen.cubic else 1) / factor)
    base = np.ceil(places) - 1
    taps = base[:, None] + np.arange(1 - reach, reach + 1)
    distance = (taps - places[:, None]) * factor
    weights = _cubic(distance, chosen.a) if chosen.cubic else _triangle(distance)
    if chosen.inside_only:
        weights = np.where((taps < 0) | (taps > stretch.source - 1), 0.0, weights)
    if chosen.antialias or chosen.inside_only:
        total = weights.sum(axis=1, keepdims=True)
        weights = weights / np.where(total == 0, 1.0, total)
    inside = np.asarray(np.clip(taps, 0, stretch.source - 1), np.int64)
    used = np.flatnonzero((weights != 0).any(axis=0))
    return inside[:, used], weights[:, used]
