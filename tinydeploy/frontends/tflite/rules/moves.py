"""Import rules of the operators that only move elements, and of views."""

from __future__ import annotations

import math
from typing import Any

import tflite

from tinydeploy.frontends.tflite.context import Context, Imported
from tinydeploy.frontends.tflite.model import MAX_RANK
from tinydeploy.frontends.tflite.rules.shared import Rule, axis_of, integers, pairs_of
from tinydeploy.ir import DType
from tinydeploy.ops.base import MAX_OPERANDS
from tinydeploy.ops.batch_to_space import BatchToSpace
from tinydeploy.ops.concatenation import Concatenation
from tinydeploy.ops.depth_to_space import DepthToSpace
from tinydeploy.ops.gather import Gather
from tinydeploy.ops.pad import Border, Pad
from tinydeploy.ops.reshape import Reshape
from tinydeploy.ops.resize import Method, Resize
from tinydeploy.ops.space_to_batch import SpaceToBatch
from tinydeploy.ops.space_to_depth import SpaceToDepth
from tinydeploy.ops.transpose import Transpose


def _reshape(context: Context) -> Imported:
    context.operands(1, 2)
    data = context.operation.inputs[:1]
    wanted = _wanted_shape(context)
    if wanted is None:
        return Imported(Reshape(context.output.shape), data)
    if len(wanted) > MAX_RANK:
        raise context.fault(f"the new shape has {len(wanted)} dimensions; {MAX_RANK} are allowed")
    elements = math.prod(context.input(0).shape)
    known = math.prod(extent for extent in wanted if extent != -1)
    if any(extent < -1 for extent in wanted) or wanted.count(-1) > 1:
        raise context.fault(f"the new shape {list(wanted)} has unknown extents; one -1 is allowed")
    if -1 in wanted and (known == 0 or elements % known):
        raise context.fault(f"the new shape {list(wanted)} cannot hold {elements} elements")
    resolved = tuple(elements // known if extent == -1 else extent for extent in wanted)
    return Imported(Reshape(resolved), data)


def _wanted_shape(context: Context) -> tuple[int, ...] | None:
    """The shape asked for, -1 in it; None where only the output's own shape tells."""
    if len(context.operation.inputs) == 2 and context.operation.inputs[1] is not None:
        tensor = context.input(1)
        if tensor.data is None:
            context.refuse(
                "the new shape is computed when the model runs",
                "convert the model with a fixed batch of 1, or reshape to a constant shape",
            )
            return None
        if tensor.dtype not in (DType.INT32, DType.INT64) or len(tensor.shape) > 1:
            raise context.fault(
                f"the new shape is {tensor.type_name}{list(tensor.shape)}, not a list of int32"
            )
        return tuple(int(extent) for extent in tensor.array().reshape(-1))
    options = context.options(tflite.BuiltinOptions.ReshapeOptions, tflite.ReshapeOptions)
    if options is None or options.NewShapeIsNone():
        return None
    return tuple(int(extent) for extent in options.NewShapeAsNumpy())


def _same_elements(context: Context, most: int) -> Imported:
    """A view whose shape the output's own tells: EXPAND_DIMS and SQUEEZE."""
    context.operands(1, most)
    return Imported(Reshape(context.output.shape), context.operation.inputs[:1])


def _transpose(context: Context) -> Imported:
    context.operands(2, 2)
    rank = len(context.input(0).shape)
    order = integers(context, 1, "the order of axes is") or ()
    attrs = Transpose(tuple(axis_of(context, number, rank) for number in order))
    return Imported(attrs, context.operation.inputs[:1])


def _zero_step(context: Context) -> int:
    """The step that stands for 0 in the output."""
    quant = context.output.quant
    return quant.zero_point if quant is not None and quant.per_tensor else 0


def _pad(context: Context) -> Imported:
    """PAD and PADV2, which names the value."""
    context.operands(2, 3)
    padding = pairs_of(
        context,
        integers(context, 1, "the paddings are") or (0,) * 2 * len(context.input(0).shape),
        len(context.input(0).shape),
        "padding",
    )
    value: int | float = _zero_step(context)
    if len(context.operation.inputs) == 3 and context.operation.inputs[2] is not None:
        value = _value(context)
    return Imported(Pad(padding, Border.CONSTANT, value), context.operation.inputs[:1])


def _value(context: Context) -> int | float:
    tensor = context.input(2)
    if math.prod(tensor.shape) != 1 or tensor.dtype is not context.input(0).dtype:
        raise context.fault(f"the padding's value is {tensor.type_name}{list(tensor.shape)}")
    if tensor.data is None:
        context.refuse("the padding's value is computed when the model runs", "pad with a constant")
        return 0
    if tensor.quant != context.output.quant:
        context.refuse(
            "the padding's value has another scale or zero point than the output",
            "convert the model again: the converter ties the two scales",
        )
    number = tensor.array().reshape(-1)[0]
    return float(number) if tensor.dtype is DType.FLOAT32 else int(number)


def _mirror_pad(context: Context) -> Imported:
    context.operands(2, 2)
    options = context.required_options(tflite.BuiltinOptions.MirrorPadOptions, tflite.MirrorPadOptions)
    modes = {
        tflite.MirrorPadMode.REFLECT: Border.REFLECT,
        tflite.MirrorPadMode.SYMMETRIC: Border.SYMMETRIC,
    }
    if options.Mode() not in modes:
        raise context.fault(f"mode {options.Mode()} is neither REFLECT (0) nor SYMMETRIC (1)")
    rank = len(context.input(0).shape)
    numbers = integers(context, 1, "the paddings are") or (0,) * 2 * rank
    attrs = Pad(pairs_of(context, numbers, rank, "padding"), modes[options.Mode()])
    return Imported(attrs, context.operation.inputs[:1])


def _concatenation(context: Context) -> Imported:
    count = len(context.operation.inputs)
    if count > MAX_OPERANDS:
        context.refuse(f"{count} inputs; {MAX_OPERANDS} are supported", "concatenate in several steps")
        return Imported(Concatenation(0), context.operation.inputs[:MAX_OPERANDS])
    context.operands(max(count, 1), MAX_OPERANDS)
    options = context.required_options(
        tflite.BuiltinOptions.ConcatenationOptions, tflite.ConcatenationOptions
    )
    if options.FusedActivationFunction() != tflite.ActivationFunctionType.NONE:
        context.refuse("a fused activation is not supported", "make the activation an operator of its own")
    axis = axis_of(context, options.Axis(), len(context.input(0).shape))
    return Imported(Concatenation(axis), context.operation.inputs)


def _gather(context: Context) -> Imported:
    context.operands(2, 2)
    options = context.required_options(tflite.BuiltinOptions.GatherOptions, tflite.GatherOptions)
    rank, indices = len(context.input(0).shape), context.input(1)
    axis = axis_of(context, options.Axis(), rank)
    count = options.BatchDims()
    if not -len(indices.shape) <= count <= len(indices.shape):
        raise context.fault(f"{count} batch dimensions for indices {list(indices.shape)}")
    count += len(indices.shape) if count < 0 else 0
    if indices.data is None or count:
        return Imported(Gather(axis, batch_dims=count), context.operation.inputs)
    numbers = integers(context, 1, "the indices are") or ()
    return Imported(Gather(axis, numbers, indices.shape), context.operation.inputs[:1])


def _block(context: Context, kind: int, table: type[Any]) -> int:
    context.operands(1, 1)
    block = int(context.required_options(kind, table).BlockSize())
    if not 1 <= block <= 1 << 12:
        raise context.fault(f"blocks of {block}")
    return block


def _space_to_depth(context: Context) -> Imported:
    block = _block(context, tflite.BuiltinOptions.SpaceToDepthOptions, tflite.SpaceToDepthOptions)
    return Imported(SpaceToDepth(block), context.operation.inputs)


def _depth_to_space(context: Context) -> Imported:
    block = _block(context, tflite.BuiltinOptions.DepthToSpaceOptions, tflite.DepthToSpaceOptions)
    return Imported(DepthToSpace(block), context.operation.inputs)


def _blocks(context: Context, what: str) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    context.operands(3, 3)
    block, numbers = integers(context, 1, "the block's shape is"), integers(context, 2, f"the {what} are")
    if block is None or numbers is None:
        return (), ()
    if any(not 1 <= extent <= 1 << 12 for extent in block):
        raise context.fault(f"blocks of {list(block)}")
    return block, pairs_of(context, numbers, len(block), what)


def _space_to_batch(context: Context) -> Imported:
    block, padding = _blocks(context, "paddings")
    attrs = SpaceToBatch(block, padding, _zero_step(context))
    return Imported(attrs, context.operation.inputs[:1])


def _batch_to_space(context: Context) -> Imported:
    return Imported(BatchToSpace(*_blocks(context, "crops")), context.operation.inputs[:1])


def _resize(context: Context, method: Method, kind: int, table: type[Any]) -> Imported:
    context.operands(2, 2)
    options = context.options(kind, table)
    size = integers(context, 1, "the new size is")
    if size is None:
        return Imported(Resize((1, 1), method), context.operation.inputs[:1])
    if len(size) != 2:
        raise context.fault(f"the new size is {list(size)}; height and width are needed")
    flags = (False, False) if options is None else (options.AlignCorners(), options.HalfPixelCenters())
    return Imported(Resize((size[0], size[1]), method, *flags), context.operation.inputs[:1])


def _resize_bilinear(context: Context) -> Imported:
    kind = tflite.BuiltinOptions.ResizeBilinearOptions
    return _resize(context, Method.BILINEAR, kind, tflite.ResizeBilinearOptions)


def _resize_nearest_neighbor(context: Context) -> Imported:
    kind = tflite.BuiltinOptions.ResizeNearestNeighborOptions
    return _resize(context, Method.NEAREST, kind, tflite.ResizeNearestNeighborOptions)


RULES: dict[str, Rule] = {
    "BATCH_TO_SPACE_ND": _batch_to_space,
    "CONCATENATION": _concatenation,
    "DEPTH_TO_SPACE": _depth_to_space,
    "EXPAND_DIMS": lambda context: _same_elements(context, 2),
    "GATHER": _gather,
    "MIRROR_PAD": _mirror_pad,
    "PAD": _pad,
    "PADV2": _pad,
    "RESHAPE": _reshape,
    "RESIZE_BILINEAR": _resize_bilinear,
    "RESIZE_NEAREST_NEIGHBOR": _resize_nearest_neighbor,
    "SPACE_TO_BATCH_ND": _space_to_batch,
    "SPACE_TO_DEPTH": _space_to_depth,
    "SQUEEZE": lambda context: _same_elements(context, 1),
    "TRANSPOSE": _transpose,
}
