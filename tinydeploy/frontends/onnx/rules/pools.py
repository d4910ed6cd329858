"""Pools over 1 to 3 dimensions. Means, maxima and norms over a box are those over its sides, one by one:
a pool of 3 dimensions becomes two of 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tinydeploy.frontends.onnx.context import Context, Rule
from tinydeploy.frontends.onnx.rules.images import (
    Frame,
    channels_first,
    channels_last,
    dimensions_of,
    frame,
    given_pads,
    pair,
    per_dimension,
)
from tinydeploy.ir import Attrs
from tinydeploy.ops.average_pool_2d import AveragePool2D
from tinydeploy.ops.lp_pool_2d import LpPool2D
from tinydeploy.ops.max_pool_2d import MaxPool2D
from tinydeploy.ops.max_pool_indices import MaxPoolIndices
from tinydeploy.ops.pad import Pad
from tinydeploy.ops.scatter_elements import ScatterElements

Make = Callable[[Frame], Attrs]
"""The operator of two dimensions for a frame of two dimensions."""


def _flat(frame_: Frame, *axes: int) -> Frame:
    """The frame of some dimensions; a single one becomes the height, beside a width of 1."""

    def chosen(numbers: tuple[int, ...], fill: int) -> tuple[int, ...]:
        found = tuple(numbers[axis] for axis in axes)
        return found if len(found) == 2 else (*found, fill)

    padding = tuple(frame_.padding[axis] for axis in axes)
    return Frame(
        chosen(frame_.size, 1),
        chosen(frame_.stride, 1),
        chosen(frame_.dilation, 1),
        padding if len(axes) == 2 else (*padding, (0, 0)),
        chosen(frame_.beyond, 0),
    )


def _pooled(context: Context, place: Frame, make: Make) -> None:
    data = context.input(0)
    count = len(place.size)
    images = channels_last(context, data)
    if count < 3:
        context.set(channels_first(context, context.emit(make(place.raised()), images), count))
        return
    batch, depth, height, width, channels = images.shape
    planes = context.reshape(images, (batch * depth, height, width, channels))
    flat = context.emit(make(_flat(place, 1, 2)), planes, tag="planes")
    _, height, width, _ = flat.shape
    lines = context.reshape(flat, (batch, depth, height * width, channels))
    deep = context.emit(make(_flat(place, 0)), lines, tag="depth")
    result = context.reshape(deep, (batch, deep.shape[1], height, width, channels))
    context.set(channels_first(context, result, count))


def _frame(context: Context) -> Frame:
    """The windows that the attributes describe."""
    data = context.input(0)
    count = dimensions_of(context, data)
    if not context.has("kernel_shape"):
        raise context.fault("kernel_shape is missing")
    return frame(context, data.shape[2:], per_dimension(context, "kernel_shape", count, 1))


def _everything(context: Context) -> Frame:
    """One window over all of each channel."""
    data = context.input(0)
    count = dimensions_of(context, data)
    ones = (1,) * count
    return Frame(data.shape[2:], ones, ones, ((0, 0),) * count, (0,) * count)


def _parts(context: Context, place: Frame) -> dict[str, object]:
    top, left = place.padding
    return {
        "size": pair(context, place.size),
        "stride": pair(context, place.stride),
        "padding": (top, left),
        "dilation": pair(context, place.dilation),
        "beyond": pair(context, place.beyond),
    }


def _average(context: Context, *, counts: bool) -> Make:
    return lambda place: AveragePool2D(**_parts(context, place), count_include_pad=counts)  # type: ignore[arg-type]


def _largest(context: Context) -> Make:
    return lambda place: MaxPool2D(**_parts(context, place))  # type: ignore[arg-type]


def _norm(context: Context) -> Make:
    order = context.int_("p", 2)
    return lambda place: LpPool2D(**_parts(context, place), order=order)  # type: ignore[arg-type]


def _average_pool(context: Context) -> None:
    _pooled(context, _frame(context), _average(context, counts=bool(context.int_("count_include_pad", 0))))


def _max_pool(context: Context) -> None:
    place = _frame(context)
    if context.outputs_wanted < 2:
        _pooled(context, place, _largest(context))
        return
    count = len(place.size)
    if count == 3:
        context.refuse("indices of 3 dimensions", "leave the second output of MaxPool away")
    parts = _parts(context, place.raised())
    attrs = MaxPoolIndices(**parts, columns_first=bool(context.int_("storage_order", 0)))  # type: ignore[arg-type]
    values, indices = context.emit_all(attrs, channels_last(context, context.input(0)))
    context.set(channels_first(context, values, count), channels_first(context, indices, count))


def _max_unpool(context: Context) -> None:
    """Values scattered to their indices among zeros; zeros fill up a larger shape that is asked for."""
    data, indices = context.input(0), context.input(1)
    count = dimensions_of(context, data)
    size = per_dimension(context, "kernel_shape", count, 1)
    stride = per_dimension(context, "strides", count, 1)
    pads = given_pads(context, count)
    extents = tuple(
        (length - 1) * step - sum(pair_) + taps
        for length, step, pair_, taps in zip(data.shape[2:], stride, pads, size, strict=True)
    )
    shape = (*data.shape[:2], *extents)
    if min(shape) < 1 or indices.shape != data.shape:
        raise context.fault(f"values {list(data.shape)} at {list(indices.shape)} in {list(shape)}")
    elements = data.type.elements
    zeros = context.literal(np.zeros(math.prod(shape), data.dtype.numpy), "zeros")
    flat = context.emit(
        ScatterElements(0),
        zeros,
        context.reshape(indices, (elements,)),
        context.reshape(data, (elements,)),
        tag="scattered",
    )
    result = context.reshape(flat, shape)
    if context.inputs_given > 2:
        wanted = tuple(int(n) for n in context.need_constant(2, "the output's shape").reshape(-1))
        if len(wanted) != len(shape) or any(a < b for a, b in zip(wanted, shape, strict=True)):
            raise context.fault(f"output_shape {list(wanted)} for {list(shape)}")
        if wanted != shape:
            result = context.emit(Pad(tuple((0, a - b) for a, b in zip(wanted, shape, strict=True))), result)
    context.set(result)


RULES: dict[str, Rule] = {
    "AveragePool": _average_pool,
    "GlobalAveragePool": lambda context: _pooled(
        context, _everything(context), _average(context, counts=False)
    ),
    "GlobalLpPool": lambda context: _pooled(context, _everything(context), _norm(context)),
    "GlobalMaxPool": lambda context: _pooled(context, _everything(context), _largest(context)),
    "LpPool": lambda context: _pooled(context, _frame(context), _norm(context)),
    "MaxPool": _max_pool,
    "MaxUnpool": _max_unpool,
}
