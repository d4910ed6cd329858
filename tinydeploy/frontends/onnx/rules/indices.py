"""Operators that find elements by indices."""

from __future__ import annotations

import math
from typing import NoReturn

import numpy as np

from tinydeploy.frontends.onnx.builder import Ref
from tinydeploy.frontends.onnx.context import Context, Rule
from tinydeploy.frontends.onnx.rules.places import axis_of, moved, numbers_of
from tinydeploy.ir import Array, DType
from tinydeploy.ops.add import Add
from tinydeploy.ops.binary_function import Binary, BinaryFunction
from tinydeploy.ops.cast import Cast
from tinydeploy.ops.concatenation import Concatenation
from tinydeploy.ops.gather import Gather
from tinydeploy.ops.gather_elements import GatherElements
from tinydeploy.ops.gather_nd import GatherND
from tinydeploy.ops.one_hot import OneHot
from tinydeploy.ops.pad import Pad
from tinydeploy.ops.reverse_sequence import ReverseSequence
from tinydeploy.ops.scatter import Reduction
from tinydeploy.ops.scatter_elements import ScatterElements
from tinydeploy.ops.scatter_nd import ScatterND


def _gather(context: Context) -> None:
    data = context.input(0)
    axis = axis_of(context, context.int_("axis", 0), data.rank)
    indices = context.constant(1)
    if indices is None:
        context.set(moved(context, Gather(axis), data, context.input(1)))
        return
    context.set(moved(context, _at(context, indices, axis, data.shape[axis]), data))


def _at(context: Context, indices: Array, axis: int, extent: int) -> Gather:
    places = [int(index) for index in indices.reshape(-1)]
    if any(not -extent <= place < extent for place in places):
        raise context.fault(f"an index outside of {extent} elements: {min(places)} to {max(places)}")
    return Gather(axis, tuple(place % extent for place in places), indices.shape)


def _gather_elements(context: Context) -> None:
    data = context.input(0)
    axis = axis_of(context, context.int_("axis", 0), data.rank)
    context.set(moved(context, GatherElements(axis), data, context.input(1)))


def _gather_nd(context: Context) -> None:
    data, indices = context.input(0), context.input(1)
    count = context.int_("batch_dims", 0)
    if not 0 <= count < min(data.rank, indices.rank):
        raise context.fault(f"{count} batch axes of {list(data.shape)} and {list(indices.shape)}")
    context.set(moved(context, GatherND(count), data, indices))


def _reduction(context: Context) -> Reduction:
    name = context.str_("reduction", "none")
    names = [kind.value for kind in Reduction]
    if name not in names:
        raise context.fault(f"reduction {name!r} is none of {', '.join(names)}")
    return Reduction(name)


def _scatter_elements(context: Context) -> None:
    """Scatter too, which is its old name."""
    data = context.input(0)
    axis = axis_of(context, context.int_("axis", 0), data.rank)
    attrs = ScatterElements(axis, _reduction(context))
    context.set(moved(context, attrs, data, context.input(1), context.input(2)))


def _scatter_nd(context: Context) -> None:
    data = context.input(0)
    context.set(moved(context, ScatterND(_reduction(context)), data, context.input(1), context.input(2)))


def _tensor_scatter(context: Context) -> None:
    """Each sequence of a batch is written from an index of its own on; at the end from the front again, or
    its last place once more."""
    data, update = context.input(0), context.input(1)
    axis = axis_of(context, context.int_("axis", -2), data.rank)
    mode = context.str_("mode", "linear")
    if mode not in ("linear", "circular") or axis == 0 or update.rank != data.rank:
        raise context.fault(f"mode {mode!r}, axis {axis}, {list(update.shape)} into {list(data.shape)}")
    order = (0, axis, *(k for k in range(1, data.rank) if k != axis))
    back = tuple(order.index(k) for k in range(data.rank))
    batch, length = data.shape[0], update.shape[axis]
    vectors = _positions(context, batch, length, data.shape[axis], wraps=mode == "circular")
    written = moved(
        context, ScatterND(), context.transpose(data, order), vectors, context.transpose(update, order)
    )
    context.set(context.transpose(written, back))


def _positions(context: Context, batch: int, length: int, extent: int, *, wraps: bool) -> Ref:
    """Vectors (sequence, place) for each element that TensorScatter writes."""
    steps = np.arange(length, dtype=np.int64)
    rows = np.broadcast_to(np.arange(batch, dtype=np.int64)[:, None], (batch, length))
    starts = np.zeros(batch, np.int64) if context.optional(2) is None else context.constant(2)
    if starts is not None:
        places = starts.astype(np.int64).reshape(batch, 1) + steps
        pairs = np.stack([rows, places % extent if wraps else places], axis=-1)
        return context.literal(pairs, "places")
    moving = context.emit(Cast(DType.INT64), context.reshape(context.input(2), (batch, 1)), tag="starts")
    place = context.emit(Add(), moving, context.literal(steps.reshape(1, length), "steps"), tag="places")
    if wraps:
        size = context.literal(np.array(extent, np.int64), "extent")
        place = context.emit(Binary(BinaryFunction.MOD), place, size, tag="wrapped")
    shape = (batch, length, 1)
    return context.emit(
        Concatenation(2),
        context.literal(rows.reshape(shape), "rows"),
        context.reshape(place, shape),
        tag="vectors",
    )


def _one_hot(context: Context) -> None:
    indices = context.input(0)
    depth = int(context.need_constant(1, "the depth").reshape(-1)[0])
    if depth < 1:
        context.refuse(f"with a depth of {depth} its result has no elements", "remove the node")
    axis = axis_of(context, context.int_("axis", -1), indices.rank + 1)
    context.set(context.emit(OneHot(axis, depth), indices, context.input(2)))


def _reverse_sequence(context: Context) -> None:
    data = context.input(0)
    batch = axis_of(context, context.int_("batch_axis", 1), data.rank)
    time = axis_of(context, context.int_("time_axis", 0), data.rank)
    context.set(moved(context, ReverseSequence(batch, time), data, context.input(1)))


def _compress(context: Context) -> None:
    data = context.input(0)
    chosen = context.constant(1)
    if chosen is None:
        _depends_on_data(context)
    places = np.flatnonzero(chosen.reshape(-1))
    axis = 0
    if context.has("axis"):
        axis = axis_of(context, context.int_("axis"), data.rank)
    else:
        data = context.reshape(data, (math.prod(data.shape),))
    if not places.size:
        context.refuse("nothing of its input remains", "remove it from the model")
    context.set(moved(context, _at(context, places, axis, data.shape[axis]), data))


def _depends_on_data(context: Context) -> NoReturn:
    context.refuse(
        "the shape of its result depends on the data",
        "end the model before it and do this step in the application",
    )


def _max_unpool(context: Context) -> None:
    """Values at the flat places where MaxPool found them, zeros elsewhere."""
    data, indices = context.input(0), context.input(1)
    shape = _unpooled_shape(context, data)
    flat = (math.prod(data.shape),)
    target = context.literal(np.zeros(math.prod(shape), data.dtype.numpy), "zeros")
    places = context.reshape(indices, flat)
    result = context.emit(ScatterElements(0), target, places, context.reshape(data, flat), tag="unpooled")
    result = context.reshape(result, shape)
    if context.optional(2) is not None:
        wanted = numbers_of(context, 2, "the shape")
        if len(wanted) != len(shape) or any(a < b for a, b in zip(wanted, shape, strict=True)):
            raise context.fault(f"the shape {wanted} for a window that gives {list(shape)}")
        pairs = tuple((0, a - b) for a, b in zip(wanted, shape, strict=True))
        result = context.emit(Pad(pairs), result) if any(map(any, pairs)) else result
    context.set(result)


def _unpooled_shape(context: Context, data: Ref) -> tuple[int, ...]:
    rank = data.rank - 2
    kernel = context.ints("kernel_shape")
    strides, pads = context.ints("strides", (1,) * rank), context.ints("pads", (0,) * 2 * rank)
    if not len(kernel) == len(strides) == rank or len(pads) != 2 * rank:
        raise context.fault(f"kernel {list(kernel)}, strides {list(strides)}, pads {list(pads)}")
    spatial = tuple(
        (extent - 1) * strides[k] + kernel[k] - pads[k] - pads[rank + k]
        for k, extent in enumerate(data.shape[2:])
    )
    if min(spatial, default=1) < 1:
        raise context.fault(f"kernel {list(kernel)} and pads {list(pads)} leave {list(spatial)}")
    return (*data.shape[:2], *spatial)


RULES: dict[str, Rule] = {
    "Compress": _compress,
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "MaxUnpool": _max_unpool,
    "NonMaxSuppression": _depends_on_data,
    "NonZero": _depends_on_data,
    "OneHot": _one_hot,
    "ReverseSequence": _reverse_sequence,
    "Scatter": _scatter_elements,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "TensorScatter": _tensor_scatter,
    "Unique": _depends_on_data,
}
