"""Import rules of the operators that find elements by indices, fill tensors, or turn axes round."""

from __future__ import annotations

import math

import numpy as np
import tflite

from tinydeploy.frontends.tflite.context import Context, Imported
from tinydeploy.frontends.tflite.rules.shared import Rule, axis_of, integers
from tinydeploy.frontends.tflite.tensors import type_of
from tinydeploy.ir import TensorType
from tinydeploy.ops.expand import Expand
from tinydeploy.ops.gather import Gather
from tinydeploy.ops.movable import MAX_ELEMENTS
from tinydeploy.ops.one_hot import OneHot
from tinydeploy.ops.reshape import Reshape
from tinydeploy.ops.reverse_sequence import ReverseSequence
from tinydeploy.ops.scatter import Reduction
from tinydeploy.ops.scatter_nd import ScatterND
from tinydeploy.ops.slice import Slice


def _reverse(context: Context) -> Imported:
    """REVERSE_V2: a slice that walks backwards along the axes."""
    context.operands(2, 2)
    shape = context.input(0).shape
    axes = [axis_of(context, number, len(shape)) for number in integers(context, 1, "the axes are") or ()]
    begin = tuple(extent - 1 if axis in axes else 0 for axis, extent in enumerate(shape))
    stride = tuple(-1 if axis in axes else 1 for axis in range(len(shape)))
    return Imported(Slice(begin, shape, stride), context.operation.inputs[:1])


def _scatter_nd(context: Context) -> tuple[Imported, ...]:
    """Updates are added to zeros, so that those of one place sum up."""
    context.operands(3, 3)
    shape = integers(context, 2, "the shape is")
    if shape is None:
        return ()
    type_ = type_of(context.input(1))
    if min(shape, default=1) < 1 or math.prod(shape) > MAX_ELEMENTS:
        raise context.fault(f"the shape {list(shape)}")
    zeros = context.literal(
        TensorType(type_.dtype, shape, type_.quant), np.zeros(shape, type_.dtype.numpy), "zeros"
    )
    indices, updates = context.operation.inputs[:2]
    return (Imported(ScatterND(Reduction.ADD), (zeros, indices, updates)),)


def _one_hot(context: Context) -> tuple[Imported, ...]:
    """Indices, depth, the value at the index, the value elsewhere."""
    context.operands(4, 4)
    options = context.required_options(tflite.BuiltinOptions.OneHotOptions, tflite.OneHotOptions)
    depth = integers(context, 1, "the depth is")
    on, off = context.input(2), context.input(3)
    if depth is None:
        return ()
    if len(depth) != 1 or not 1 <= depth[0] <= MAX_ELEMENTS or on.dtype is not off.dtype:
        raise context.fault(f"depth {list(depth)}, values {on.type_name} and {off.type_name}")
    if on.data is None or off.data is None:
        context.refuse("its values are computed when the model runs", "use constants")
        return ()
    values = np.concatenate([off.array().reshape(-1)[:1], on.array().reshape(-1)[:1]])
    type_ = type_of(on)
    pair = context.literal(TensorType(type_.dtype, (2,), type_.quant), values, "values")
    axis = axis_of(context, options.Axis(), len(context.input(0).shape) + 1)
    return (Imported(OneHot(axis, depth[0], wraps=False), (context.operation.inputs[0], pair)),)


def _reverse_sequence(context: Context) -> Imported:
    context.operands(2, 2)
    options = context.required_options(
        tflite.BuiltinOptions.ReverseSequenceOptions, tflite.ReverseSequenceOptions
    )
    rank = len(context.input(0).shape)
    batch, time = (axis_of(context, number, rank) for number in (options.BatchDim(), options.SeqDim()))
    return Imported(ReverseSequence(batch, time), context.operation.inputs)


def _embedding_lookup(context: Context) -> Imported:
    """Its inputs: indices, table."""
    context.operands(2, 2)
    indices, table = context.operation.inputs
    return Imported(Gather(0), (table, indices))


def _fill(context: Context) -> tuple[Imported, ...]:
    """Its inputs: shape, value."""
    context.operands(2, 2)
    shape = integers(context, 0, "the shape is")
    if shape is None:
        return ()
    value = context.input(1)
    if len(value.shape) > 1 or math.prod(value.shape) != 1:
        raise context.fault(f"its value has shape {list(value.shape)}; one element is needed")
    if not shape:
        return (Imported(Reshape(()), (value.index,)),)
    return (Imported(Expand(shape), (value.index,)),)


RULES: dict[str, Rule] = {
    "EMBEDDING_LOOKUP": _embedding_lookup,
    "FILL": _fill,
    "ONE_HOT": _one_hot,
    "REVERSE_SEQUENCE": _reverse_sequence,
    "REVERSE_V2": _reverse,
    "SCATTER_ND": _scatter_nd,
}
