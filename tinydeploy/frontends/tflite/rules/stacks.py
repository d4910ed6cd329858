"""Import rules of the operators that stack tensors, take stacks apart, repeat them or look things up."""

from __future__ import annotations

import tflite

from tinydeploy.frontends.tflite.context import Context, Imported
from tinydeploy.frontends.tflite.rules.shared import Rule, axis_of, integers
from tinydeploy.frontends.tflite.tensors import type_of
from tinydeploy.ir import TensorType
from tinydeploy.ops.base import MAX_OPERANDS
from tinydeploy.ops.concatenation import Concatenation
from tinydeploy.ops.expand import Expand
from tinydeploy.ops.gather_nd import GatherND
from tinydeploy.ops.reshape import Reshape
from tinydeploy.ops.slice import Slice
from tinydeploy.ops.tile import Tile


def _pack(context: Context) -> tuple[Imported, ...]:
    """Each input gets the new axis, then they are joined along it."""
    count = len(context.operation.inputs)
    if count > MAX_OPERANDS:
        context.refuse(f"{count} inputs; {MAX_OPERANDS} are supported", "stack in several steps")
        return ()
    context.operands(max(count, 1), MAX_OPERANDS)
    options = context.required_options(tflite.BuiltinOptions.PackOptions, tflite.PackOptions)
    axis = axis_of(context, options.Axis(), len(context.input(0).shape) + 1)
    steps: list[Imported] = []
    parts: list[int] = []
    for position in range(count):
        tensor = context.input(position)
        shape = (*tensor.shape[:axis], 1, *tensor.shape[axis:])
        if tensor.shape != context.input(0).shape:
            raise context.fault(f"shapes {list(context.input(0).shape)} and {list(tensor.shape)} are stacked")
        quant = type_of(tensor).quant
        part = context.between(TensorType(type_of(tensor).dtype, shape, quant), f"part{position}")
        steps.append(Imported(Reshape(shape), (tensor.index,), makes=(part,)))
        parts.append(part)
    return (*steps, Imported(Concatenation(axis), tuple(parts)))


def _unpack(context: Context) -> tuple[Imported, ...]:
    """A slice of one place along the axis, which goes, for each output."""
    count = len(context.operation.outputs)
    context.operands(1, 1, outputs=count)
    options = context.required_options(tflite.BuiltinOptions.UnpackOptions, tflite.UnpackOptions)
    shape = context.input(0).shape
    axis = axis_of(context, options.Axis(), len(shape))
    if shape[axis] != count:
        raise context.fault(f"{count} outputs from {shape[axis]} places along axis {axis}")
    extents = tuple(1 if index == axis else extent for index, extent in enumerate(shape))
    return tuple(
        Imported(
            Slice(
                tuple(place if index == axis else 0 for index in range(len(shape))),
                extents,
                (1,) * len(shape),
                (axis,),
            ),
            context.operation.inputs,
            place,
        )
        for place in range(count)
    )


def _gather_nd(context: Context) -> Imported:
    context.operands(2, 2)
    return Imported(GatherND(), context.operation.inputs)


def _tile(context: Context) -> Imported:
    context.operands(2, 2)
    repeats = integers(context, 1, "the numbers of copies are") or (1,) * len(context.input(0).shape)
    if len(repeats) != len(context.input(0).shape):
        raise context.fault(f"numbers of copies {list(repeats)} for {list(context.input(0).shape)}")
    return Imported(Tile(repeats), context.operation.inputs[:1])


def _broadcast_to(context: Context) -> Imported:
    context.operands(2, 2)
    return Imported(
        Expand(integers(context, 1, "the new shape is") or context.input(0).shape),
        context.operation.inputs[:1],
    )


RULES: dict[str, Rule] = {
    "BROADCAST_TO": _broadcast_to,
    "GATHER_ND": _gather_nd,
    "PACK": _pack,
    "TILE": _tile,
    "UNPACK": _unpack,
}
