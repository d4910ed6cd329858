"""Import rules of the operators that cut tensors: SLICE, STRIDED_SLICE, and splits, a slice per output."""

from __future__ import annotations

import tflite

from tinydeploy.frontends.tflite.context import Context, Imported
from tinydeploy.frontends.tflite.rules.shared import Rule, axis_of, integers
from tinydeploy.ops.slice import Slice


def _slice(context: Context) -> Imported:
    """A size of -1 reaches to the end."""
    context.operands(3, 3)
    shape = context.input(0).shape
    begin, size = integers(context, 1, "the begin is"), integers(context, 2, "the size is")
    if begin is None or size is None:
        return Imported(Slice((), (), ()), context.operation.inputs[:1])
    if not len(begin) == len(size) == len(shape):
        raise context.fault(f"begin {list(begin)} and size {list(size)} for {list(shape)}")
    resolved = tuple(
        extent - first if length == -1 else length
        for first, length, extent in zip(begin, size, shape, strict=True)
    )
    return Imported(Slice(begin, resolved, (1,) * len(shape)), context.operation.inputs[:1])


def _strided_slice(context: Context) -> Imported:
    context.operands(4, 4)
    options = context.required_options(tflite.BuiltinOptions.StridedSliceOptions, tflite.StridedSliceOptions)
    shape, data = context.input(0).shape, context.operation.inputs[:1]
    lists = [
        integers(context, position, f"the {name} is")
        for position, name in ((1, "begin"), (2, "end"), (3, "stride"))
    ]
    begin, end, stride = (numbers if numbers is not None else (0,) * len(shape) for numbers in lists)
    if None in lists:
        return Imported(Slice((), (), ()), data)
    if options.EllipsisMask() or options.NewAxisMask() or options.Offset():
        context.refuse("ellipsis, new axes and offsets are not supported", "slice every axis by its numbers")
        return Imported(Slice((), (), ()), data)
    if not len(begin) == len(end) == len(stride) == len(shape) or 0 in stride:
        raise context.fault(f"begin {list(begin)}, end {list(end)}, stride {list(stride)} for {list(shape)}")
    masks = (options.BeginMask(), options.EndMask(), options.ShrinkAxisMask())
    axes = [
        _along(extent, numbers, tuple(bool(mask >> axis & 1) for mask in masks))
        for axis, (extent, *numbers) in enumerate(zip(shape, begin, end, stride, strict=True))
    ]
    if any(size < 1 for _, size, _ in axes):
        context.refuse("the slice holds no elements", "remove it from the model")
        return Imported(Slice((), (), ()), data)
    firsts, sizes, steps = zip(*axes, strict=True) if axes else ((), (), ())
    dropped = tuple(axis for axis in range(len(shape)) if masks[2] >> axis & 1)
    return Imported(Slice(firsts, sizes, steps, dropped), data)


def _along(extent: int, numbers: list[int], masks: tuple[bool, ...]) -> tuple[int, int, int]:
    """(begin, size, stride) along one axis, by TensorFlow's rules for negative numbers and masks."""
    begin, end, stride = numbers
    open_begin, open_end, shrink = masks
    first = (0 if stride > 0 else extent - 1) if open_begin else _place(begin, extent, stride)
    if shrink:
        return first, 1 if 0 <= first < extent else 0, 1
    last = (extent if stride > 0 else -1) if open_end else _place(end, extent, stride)
    return first, max(-(-(last - first) // stride), 0), stride


def _place(number: int, extent: int, stride: int) -> int:
    """A place along an axis, negative ones from the end, cut to where a walk may begin or end."""
    place = number + extent if number < 0 else number
    low, high = (0, extent) if stride > 0 else (-1, extent - 1)
    return min(max(place, low), high)


def _parts(context: Context, data: int, axis: int, sizes: list[int]) -> tuple[Imported, ...]:
    """A slice for each output, one after the other along ``axis``."""
    shape = context.input(data).shape
    begin = 0
    parts: list[Imported] = []
    for output, size in enumerate(sizes):
        places = tuple(begin if index == axis else 0 for index in range(len(shape)))
        extents = tuple(size if index == axis else extent for index, extent in enumerate(shape))
        attrs = Slice(places, extents, (1,) * len(shape))
        parts.append(Imported(attrs, (context.operation.inputs[data],), output))
        begin += size
    return tuple(parts)


def _axis(context: Context, position: int, data: int) -> int | None:
    numbers = integers(context, position, "the axis is")
    if numbers is None:
        return None
    if len(numbers) != 1:
        raise context.fault(f"the axis is {list(numbers)}; one number is needed")
    return axis_of(context, numbers[0], len(context.input(data).shape))


def _split(context: Context) -> tuple[Imported, ...]:
    """TFLite's inputs: axis, data."""
    count = len(context.operation.outputs)
    context.operands(2, 2, outputs=count)
    axis = _axis(context, 0, 1)
    if axis is None:
        return ()
    extent = context.input(1).shape[axis]
    if count == 0 or extent % count:
        raise context.fault(f"{count} outputs from {extent} elements along axis {axis}")
    return _parts(context, 1, axis, [extent // count] * count)


def _split_v(context: Context) -> tuple[Imported, ...]:
    """TFLite's inputs: data, sizes, axis; one size may be -1."""
    count = len(context.operation.outputs)
    context.operands(3, 3, outputs=count)
    sizes, axis = integers(context, 1, "the sizes are"), _axis(context, 2, 0)
    if sizes is None or axis is None:
        return ()
    extent = context.input(0).shape[axis]
    known = sum(size for size in sizes if size != -1)
    resolved = [extent - known if size == -1 else size for size in sizes]
    if len(sizes) != count or sizes.count(-1) > 1 or sum(resolved) != extent or min(resolved, default=0) < 1:
        raise context.fault(f"sizes {list(sizes)} for {count} outputs from {extent} elements")
    return _parts(context, 0, axis, resolved)


RULES: dict[str, Rule] = {
    "SLICE": _slice,
    "SPLIT": _split,
    "SPLIT_V": _split_v,
    "STRIDED_SLICE": _strided_slice,
}
