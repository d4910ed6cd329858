"""Operators that move elements to places that are known at compile time."""

from __future__ import annotations

import numpy as np

from tinydeploy.frontends.onnx.builder import Ref
from tinydeploy.frontends.onnx.context import Context, Rule
from tinydeploy.frontends.onnx.rules.places import TO_FIRST, TO_LAST, axes_of, axis_of, moved, numbers_of
from tinydeploy.frontends.onnx.types import DTYPES, OTHER_TYPES, element_name
from tinydeploy.ir import Array, DType
from tinydeploy.ops.base import MAX_OPERANDS
from tinydeploy.ops.bit_cast import BitCast
from tinydeploy.ops.concatenation import Concatenation
from tinydeploy.ops.depth_to_space import DepthToSpace
from tinydeploy.ops.expand import Expand
from tinydeploy.ops.pad import Border, Pad
from tinydeploy.ops.slice import Slice
from tinydeploy.ops.space_to_depth import SpaceToDepth
from tinydeploy.ops.tile import Tile
from tinydeploy.ops.where import Where


def _concat(context: Context) -> None:
    given = [(index, context.constant(index)) for index in range(context.inputs_given)]
    parts = [context.input(index) for index, array in given if array is None or array.size]
    if not parts:
        raise context.fault("there are no inputs")
    axis = axis_of(context, context.int_("axis", 1 if context.opset < 4 else None), parts[0].rank)
    while len(parts) > 1:
        groups = [parts[k : k + MAX_OPERANDS] for k in range(0, len(parts), MAX_OPERANDS)]
        parts = [_joined(context, group, axis) for group in groups]
    context.set(parts[0])


def _joined(context: Context, parts: list[Ref], axis: int) -> Ref:
    return context.emit(Concatenation(axis), *parts, like=parts[0].type.quant) if len(parts) > 1 else parts[0]


def _transpose(context: Context) -> None:
    data = context.input(0)
    order = context.ints("perm", tuple(range(data.rank))[::-1])
    if sorted(order) != list(range(data.rank)):
        raise context.fault(f"perm {list(order)} for {list(data.shape)}")
    context.set(context.transpose(data, order))


def _expand(context: Context) -> None:
    data, wanted = context.input(0), numbers_of(context, 1, "the shape")
    try:
        shape = np.broadcast_shapes(data.shape, tuple(wanted))
    except ValueError as error:
        raise context.fault(f"shape {wanted} for {list(data.shape)}") from error
    context.set(data if shape == data.shape else moved(context, Expand(shape), data))


def _tile(context: Context) -> None:
    data, repeats = context.input(0), tuple(numbers_of(context, 1, "the repeats"))
    if len(repeats) != data.rank:
        raise context.fault(f"repeats {list(repeats)} for {list(data.shape)}")
    if any(count < 1 for count in repeats):
        context.refuse(f"with repeats {list(repeats)} its result has no elements", "remove the node")
    context.set(data if set(repeats) <= {1} else moved(context, Tile(repeats), data))


_BORDERS = {
    "constant": Border.CONSTANT,
    "reflect": Border.REFLECT,
    "edge": Border.EDGE,
    "wrap": Border.WRAP,
}


def _pad(context: Context) -> None:
    data = context.input(0)
    mode = context.str_("mode", "constant")
    if mode not in _BORDERS:
        raise context.fault(f"mode {mode!r} is none of {', '.join(_BORDERS)}")
    value: int | float
    if context.opset < 11:
        numbers = list(context.ints("pads" if context.opset > 1 else "paddings"))
        value = context.float_("value", 0.0)
    else:
        numbers = numbers_of(context, 1, "the pads")
        given = context.need_constant(2, "the value") if context.optional(2) is not None else np.zeros(())
        value = float(given.reshape(-1)[0]) if given.dtype.kind == "f" else int(given.reshape(-1)[0])
    axes = tuple(range(data.rank))
    if context.optional(3) is not None:
        axes = axes_of(context, numbers_of(context, 3, "the axes"), data.rank)
    if len(numbers) != 2 * len(axes):
        raise context.fault(f"{len(numbers)} pads for {len(axes)} axes")
    pairs = [(0, 0)] * data.rank
    for axis, before, after in zip(axes, numbers[: len(axes)], numbers[len(axes) :], strict=True):
        pairs[axis] = (before, after)
    if not any(map(any, pairs)):
        context.set(data)
        return
    attrs = Pad(tuple(pairs), _BORDERS[mode], value if data.dtype is DType.FLOAT32 else int(value))
    context.set(moved(context, attrs, data))


def _slice(context: Context) -> None:
    data = context.input(0)
    if context.opset < 10:
        starts, ends = list(context.ints("starts")), list(context.ints("ends"))
        axes = list(context.ints("axes", tuple(range(len(starts)))))
        steps = [1] * len(starts)
    else:
        starts, ends = numbers_of(context, 1, "the starts"), numbers_of(context, 2, "the ends")
        axes = list(range(len(starts)))
        if context.optional(3) is not None:
            axes = numbers_of(context, 3, "the axes")
        steps = [1] * len(starts)
        if context.optional(4) is not None:
            steps = numbers_of(context, 4, "the steps")
    if not len(starts) == len(ends) == len(axes) == len(steps) or 0 in steps:
        raise context.fault(f"starts {starts}, ends {ends}, axes {axes}, steps {steps}")
    begin, size, stride = [0] * data.rank, list(data.shape), [1] * data.rank
    rows = zip(axes_of(context, axes, data.rank), starts, ends, steps, strict=True)
    for axis, start, end, step in rows:
        begin[axis], size[axis], stride[axis] = _span(data.shape[axis], start, end, step)
    if min(size, default=1) < 1:
        context.refuse("the slice holds no elements", "remove it from the model")
    if tuple(size) == data.shape and all(step == 1 for step in stride):
        context.set(data)
        return
    context.set(moved(context, Slice(tuple(begin), tuple(size), tuple(stride)), data))


def _span(extent: int, start: int, end: int, step: int) -> tuple[int, int, int]:
    """(begin, size, stride) along one axis, as Python slices."""
    places = range(extent)[start:end:step]
    return (places.start, len(places), step if len(places) > 1 else 1)


def _split(context: Context) -> None:
    data = context.input(0)
    axis = axis_of(context, context.int_("axis", 0), data.rank)
    extent, count = data.shape[axis], context.outputs_wanted
    if context.opset < 13:
        sizes = list(context.ints("split", ()))
    else:
        sizes = numbers_of(context, 1, "the sizes") if context.optional(1) is not None else []
        count = context.int_("num_outputs", count)
    if not sizes:
        each = -(-extent // max(count, 1))
        sizes = [max(min(each, extent - k * each), 0) for k in range(count)]
    if sum(sizes) != extent or min(sizes, default=-1) < 0 or len(sizes) < context.outputs_wanted:
        raise context.fault(f"sizes {sizes} for {context.outputs_wanted} outputs from {extent} elements")
    parts: list[Ref | Array] = []
    for number, size in enumerate(sizes):
        if size == 0:
            empty = tuple(size if k == axis else length for k, length in enumerate(data.shape))
            parts.append(np.zeros(empty, data.dtype.numpy))
            continue
        begin = tuple(sum(sizes[:number]) if k == axis else 0 for k in range(data.rank))
        extents = tuple(size if k == axis else length for k, length in enumerate(data.shape))
        whole = extents == data.shape
        attrs = Slice(begin, extents, (1,) * data.rank)
        parts.append(data if whole else moved(context, attrs, data, tag=f"part{number}"))
    context.set(*parts)


def _block(context: Context) -> tuple[Ref, int, bool]:
    """The image NHWC, the block, and whether channels interleave."""
    data, block = context.input(0), context.int_("blocksize")
    mode = context.str_("mode", "DCR")
    if data.rank != 4 or not 1 <= block <= 1 << 12 or mode not in ("DCR", "CRD"):
        raise context.fault(f"blocks of {block}, mode {mode!r}, for {list(data.shape)}")
    return context.transpose(data, TO_LAST), block, mode == "CRD"


def _depth_to_space(context: Context) -> None:
    data, block, interleaved = _block(context)
    context.set(context.transpose(moved(context, DepthToSpace(block, interleaved), data), TO_FIRST))


def _space_to_depth(context: Context) -> None:
    data, block, interleaved = _block(context)
    context.set(context.transpose(moved(context, SpaceToDepth(block, interleaved), data), TO_FIRST))


def _center_crop_pad(context: Context) -> None:
    data, wanted = context.input(0), numbers_of(context, 1, "the shape")
    axes = axes_of(context, context.ints("axes", tuple(range(data.rank))), data.rank)
    if len(axes) != len(wanted) or min(wanted, default=1) < 1:
        raise context.fault(f"shape {wanted} for axes {list(axes)} of {list(data.shape)}")
    pairs = [(0, 0)] * data.rank
    for axis, extent in zip(axes, wanted, strict=True):
        more = extent - data.shape[axis]
        # A crop begins at half of what goes, rounded down; so does a border.
        before = more // 2 if more >= 0 else -(-more // 2)
        pairs[axis] = (before, more - before)
    context.set(moved(context, Pad(tuple(pairs)), data) if any(map(any, pairs)) else data)


def _trilu(context: Context) -> None:
    """The matrix where a constant mask says, zeros elsewhere."""
    data = context.input(0)
    if data.rank < 2:
        raise context.fault(f"its input has shape {list(data.shape)}; matrices are needed")
    k = int(context.need_constant(1, "the diagonal").reshape(-1)[0]) if context.optional(1) is not None else 0
    k = max(min(k, data.shape[-1]), -data.shape[-2])
    ones = np.ones(data.shape[-2:], np.bool_)
    mask = np.triu(ones, k) if context.int_("upper", 1) else np.tril(ones, k)
    if mask.all():
        context.set(data)
        return
    zero = context.literal(np.zeros((), data.dtype.numpy), "zero", data.type.quant)
    context.set(context.emit(Where(), context.literal(mask, "mask"), data, zero, like=data.type.quant))


def _eye_like(context: Context) -> None:
    data = context.input(0)
    if data.rank != 2:
        raise context.fault(f"its input has shape {list(data.shape)}; a matrix is needed")
    number = context.int_("dtype", 0)
    dtype = DTYPES.get(number) if number else data.dtype
    if dtype is None:
        context.refuse(f"its result has elements of type {element_name(number)}", OTHER_TYPES)
    context.set_constant(np.eye(data.shape[0], data.shape[1], context.int_("k", 0), dtype.numpy))


def _bit_cast(context: Context) -> None:
    number = context.int_("to")
    dtype = DTYPES.get(number)
    if dtype is None:
        context.refuse(f"its result has elements of type {element_name(number)}", OTHER_TYPES)
    context.set(context.emit(BitCast(dtype), context.input(0)))


def _range(context: Context) -> None:
    context.refuse(
        "the number of its elements is computed when the model runs",
        "give it a constant start, limit and step: export with fixed shapes, or fold it with onnxsim",
    )


RULES: dict[str, Rule] = {
    "BitCast": _bit_cast,
    "CenterCropPad": _center_crop_pad,
    "Concat": _concat,
    "DepthToSpace": _depth_to_space,
    "Expand": _expand,
    "EyeLike": _eye_like,
    "Pad": _pad,
    "Range": _range,
    "Slice": _slice,
    "SpaceToDepth": _space_to_depth,
    "Split": _split,
    "Tile": _tile,
    "Transpose": _transpose,
    "Trilu": _trilu,
}
