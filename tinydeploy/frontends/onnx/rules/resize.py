"""Resize and Upsample: the nearest elements are a move, sums of neighbours one Resample per axis."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from tinydeploy.frontends.onnx.builder import Ref
from tinydeploy.frontends.onnx.context import Context, Rule
from tinydeploy.frontends.onnx.rules.places import TO_FIRST, TO_LAST, axes_of, moved, numbers_of
from tinydeploy.frontends.onnx.rules.resize_tables import (
    COORDINATES,
    ROUNDINGS,
    Filter,
    Stretch,
    nearest,
    positions,
    weighted,
)
from tinydeploy.ops.pad import Pad
from tinydeploy.ops.resample import Resample
from tinydeploy.ops.take import Take

MAX_EXTENT = 1 << 20


def _resize(context: Context) -> None:
    """The inputs since opset 11: data, region, scales, sizes; before: data, scales."""
    data = context.input(0)
    mode = context.str_("mode", "nearest")
    coordinates = context.str_("coordinate_transformation_mode", "half_pixel")
    if context.opset < 11:
        coordinates = "asymmetric"
    if mode not in ("nearest", "linear", "cubic") or coordinates not in COORDINATES:
        raise context.fault(f"mode {mode!r}, coordinates {coordinates!r}")
    axes = axes_of(context, context.ints("axes", tuple(range(data.rank))), data.rank)
    stretches = dict(zip(axes, _stretches(context, data, axes, coordinates), strict=True))
    _resized(context, data, stretches, mode, coordinates)


def _stretches(context: Context, data: Ref, axes: Sequence[int], coordinates: str) -> list[Stretch]:
    extents = [data.shape[axis] for axis in axes]
    scales = _reals(context, 1 if context.opset < 11 else 2, "the scales")
    sizes = numbers_of(context, 3, "the sizes") if context.optional(3) is not None else []
    if bool(scales) == bool(sizes) or len(scales or sizes) != len(axes):
        raise context.fault(f"{len(scales)} scales and {len(sizes)} sizes for {len(axes)} axes")
    if sizes:
        scales = [size / extent for size, extent in zip(sizes, extents, strict=True)]
        policy = context.str_("keep_aspect_ratio_policy", "stretch")
        if policy in ("not_larger", "not_smaller"):
            scales = [min(scales) if policy == "not_larger" else max(scales)] * len(axes)
            sizes = [int(scale * extent + 0.5) for scale, extent in zip(scales, extents, strict=True)]
    if any(not 0 < scale <= MAX_EXTENT for scale in scales):
        raise context.fault(f"scales {scales}, sizes {sizes}")
    targets = sizes or [math.floor(scale * extent) for scale, extent in zip(scales, extents, strict=True)]
    if not all(1 <= target <= MAX_EXTENT for target in targets):
        context.refuse(f"its result has {targets} elements on the axes", "resize to another size")
    region = _reals(context, 1, "the region") if coordinates == "tf_crop_and_resize" else []
    if not region:
        region = [0.0] * len(axes) + [1.0] * len(axes)
    if len(region) != 2 * len(axes):
        raise context.fault(f"a region of {len(region)} numbers for {len(axes)} axes")
    return [
        Stretch(extent, target, scale, (region[k], region[k + len(axes)]))
        for k, (extent, target, scale) in enumerate(zip(extents, targets, scales, strict=True))
    ]


def _reals(context: Context, position: int, what: str) -> list[float]:
    if context.optional(position) is None:
        return []
    return [float(number) for number in context.need_constant(position, what).reshape(-1)]


def _upsample(context: Context) -> None:
    data = context.input(0)
    mode = context.str_("mode", "nearest")
    scales = list(context.floats("scales")) if context.opset < 9 else _reals(context, 1, "the scales")
    if (
        mode not in ("nearest", "linear")
        or len(scales) != data.rank
        or not all(1 <= s <= 4096 for s in scales)
    ):
        raise context.fault(f"mode {mode!r}, scales {scales} for {list(data.shape)}")
    stretches = {
        axis: Stretch(extent, math.floor(extent * scale), scale)
        for axis, (extent, scale) in enumerate(zip(data.shape, scales, strict=True))
    }
    _resized(context, data, stretches, mode, "asymmetric")


def _resized(context: Context, data: Ref, stretches: dict[int, Stretch], mode: str, coordinates: str) -> None:
    """Images NHWC inside, where only height and width change."""
    changed = {
        axis: stretch
        for axis, stretch in stretches.items()
        if stretch.source != stretch.target or stretch.scale != 1 or stretch.region != (0.0, 1.0)
    }
    if not changed:
        context.set(data)
        return
    is_image = data.rank == 4 and changed.keys() <= {2, 3}
    if is_image:
        data = context.transpose(data, TO_LAST)
        changed = {axis - 1: stretch for axis, stretch in changed.items()}
    if mode == "nearest":
        data = _nearest(context, data, changed, coordinates)
    else:
        for axis, stretch in sorted(changed.items(), key=lambda item: item[1].target / item[1].source):
            data = _summed(context, data, axis, stretch, mode, coordinates)
    context.set(context.transpose(data, TO_FIRST) if is_image else data)


def _nearest(context: Context, data: Ref, stretches: dict[int, Stretch], coordinates: str) -> Ref:
    rounding = context.str_("nearest_mode", "round_prefer_floor" if context.opset >= 11 else "floor")
    if context.op == "Upsample" or coordinates == "tf_half_pixel_for_nn":
        rounding = "floor"
    if rounding not in ROUNDINGS:
        raise context.fault(f"nearest_mode {rounding!r} is none of {', '.join(ROUNDINGS)}")
    places: list[tuple[int, ...] | None] = [None] * data.rank
    outside: dict[int, tuple[int, int]] = {}
    for axis, stretch in stretches.items():
        wanted = positions(stretch, coordinates)
        if coordinates == "tf_crop_and_resize":
            outside[axis] = _outside(context, wanted, stretch)
        before, after = outside.get(axis, (0, 0))
        chosen = nearest(wanted[before : stretch.target - after], stretch.source, rounding)
        places[axis] = tuple(int(place) for place in chosen)
    return _bordered(context, moved(context, Take(tuple(places)), data, tag="nearest"), outside)


def _summed(context: Context, data: Ref, axis: int, stretch: Stretch, mode: str, coordinates: str) -> Ref:
    wanted = positions(stretch, coordinates)
    before, after = _outside(context, wanted, stretch) if coordinates == "tf_crop_and_resize" else (0, 0)
    chosen = Filter(
        mode == "cubic",
        context.float_("cubic_coeff_a", -0.75),
        bool(context.int_("antialias", 0)),
        bool(context.int_("exclude_outside", 0)),
    )
    places, weights = weighted(wanted[before : stretch.target - after], stretch, chosen)
    if places.shape[1] == 1 and (weights == 1).all():
        line: list[tuple[int, ...] | None] = [None] * data.rank
        line[axis] = tuple(int(place) for place in places[:, 0])
        data = moved(context, Take(tuple(line)), data, tag=f"axis{axis}")
    else:
        data = moved(
            context,
            Resample(axis),
            data,
            context.literal(places.astype(np.int32), f"places{axis}"),
            context.literal(weights.astype(np.float32), f"weights{axis}"),
            tag=f"axis{axis}",
        )
    return _bordered(context, data, {axis: (before, after)})


def _outside(context: Context, wanted: np.ndarray, stretch: Stretch) -> tuple[int, int]:
    """How many outputs at either end lie outside of the input."""
    inside = np.flatnonzero((wanted >= 0) & (wanted <= stretch.source - 1))
    if not inside.size:
        context.refuse("its region lies outside of the data", "choose another region")
    return int(inside[0]), int(len(wanted) - 1 - inside[-1])


def _bordered(context: Context, data: Ref, outside: dict[int, tuple[int, int]]) -> Ref:
    """The outputs outside of the input hold the extrapolation value."""
    if not any(map(any, outside.values())):
        return data
    value = context.float_("extrapolation_value", 0.0)
    pairs = tuple(outside.get(axis, (0, 0)) for axis in range(data.rank))
    return moved(context, Pad(pairs, value=value), data, tag="outside")


RULES: dict[str, Rule] = {
    "Resize": _resize,
    "Upsample": _upsample,
}
