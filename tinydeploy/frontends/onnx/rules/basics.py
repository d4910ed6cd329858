"""Operators that change nothing but shape or name."""

from __future__ import annotations

import math

import numpy as np

from tinydeploy.frontends.onnx.context import Context, Rule


def _identity(context: Context) -> None:
    context.set(context.input(0))


def _dropout(context: Context) -> None:
    """In inference the data passes; the mask, if anybody wants it, is all true."""
    if context.optional(2) is not None and bool(context.need_constant(2, "the training mode").any()):
        context.refuse("it is in training mode", "export the model for inference (model.eval())")
    data = context.input(0)
    if context.outputs_wanted < 2:
        context.set(data)
        return
    context.set(data, context.literal(np.ones(data.shape, np.bool_), "mask"))


def _reshape(context: Context) -> None:
    data = context.input(0)
    wanted = [int(extent) for extent in context.need_constant(1, "the shape").reshape(-1)]
    if not context.int_("allowzero", 0):
        for axis, extent in enumerate(wanted):
            if extent == 0:
                if axis >= data.rank:
                    raise context.fault(f"shape {wanted} copies axis {axis} of {list(data.shape)}")
                wanted[axis] = data.shape[axis]
    context.set(context.reshape(data, _without_minus_one(context, wanted, data.type.elements)))


def _without_minus_one(context: Context, shape: list[int], elements: int) -> list[int]:
    if shape.count(-1) > 1 or any(extent < -1 for extent in shape):
        raise context.fault(f"shape {shape}; one -1 and no other negative extent is allowed")
    if -1 not in shape:
        return shape
    known = math.prod(extent for extent in shape if extent != -1)
    if known == 0 or elements % known:
        raise context.fault(f"shape {shape} for {elements} elements")
    return [elements // known if extent == -1 else extent for extent in shape]


def _flatten(context: Context) -> None:
    data = context.input(0)
    axis = context.int_("axis", 1)
    if not -data.rank <= axis <= data.rank:
        raise context.fault(f"axis {axis} of {list(data.shape)}")
    axis += data.rank if axis < 0 else 0
    context.set(context.reshape(data, (math.prod(data.shape[:axis]), math.prod(data.shape[axis:]))))


def _axes(context: Context, rank: int) -> tuple[int, ...] | None:
    """The axes of Squeeze and Unsqueeze: an attribute before opset 13, an input since; None if not given."""
    if context.opset < 13:
        if not context.has("axes"):
            return None
        given = context.ints("axes")
    elif context.inputs_given < 2:
        return None
    else:
        given = tuple(int(axis) for axis in context.need_constant(1, "the axes").reshape(-1))
    if any(not -rank <= axis < rank for axis in given):
        raise context.fault(f"axes {list(given)} of {rank} dimensions")
    axes = tuple(sorted(axis % rank for axis in given))
    if len(set(axes)) != len(axes):
        raise context.fault(f"axes {list(given)} name one twice")
    return axes


def _squeeze(context: Context) -> None:
    data = context.input(0)
    axes = _axes(context, max(data.rank, 1))
    if axes is None:
        axes = tuple(axis for axis, extent in enumerate(data.shape) if extent == 1)
    if any(axis >= data.rank or data.shape[axis] != 1 for axis in axes):
        raise context.fault(f"axes {list(axes)} of {list(data.shape)} are not of extent 1")
    context.set(context.reshape(data, [extent for axis, extent in enumerate(data.shape) if axis not in axes]))


def _unsqueeze(context: Context) -> None:
    data = context.input(0)
    count = len(context.ints("axes")) if context.opset < 13 else context.need_constant(1, "the axes").size
    axes = _axes(context, data.rank + count) or ()
    rest = iter(data.shape)
    context.set(
        context.reshape(data, [1 if axis in axes else next(rest) for axis in range(data.rank + count)])
    )


RULES: dict[str, Rule] = {
    "Dropout": _dropout,
    "Flatten": _flatten,
    "Identity": _identity,
    "Reshape": _reshape,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
}
