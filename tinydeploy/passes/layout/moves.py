"""How each operator lets a transpose pass: what it does to a base instead of to a value arranged in it.

Each function says whether it settled the node; where it did not, the node is copied with its operands made.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from tinydeploy.ir import Node, TensorType
from tinydeploy.ops.concatenation import Concatenation
from tinydeploy.ops.fully_connected import FullyConnected
from tinydeploy.ops.normalization import Normalization
from tinydeploy.ops.pad import Pad
from tinydeploy.ops.slice import Slice
from tinydeploy.ops.take import Take
from tinydeploy.ops.transpose import Transpose
from tinydeploy.passes.layout.arrangement import Aligned, Shape, aligned, plain
from tinydeploy.passes.layout.rebuild import Rebuild, View, quant_in_base

Move = Callable[[Rebuild, Node], bool]


def _first(node: Node) -> int:
    value = node.inputs[0]
    if value is None:
        raise ValueError(f"node {node.name!r} has no first input")
    return value


def _transpose(new: Rebuild, node: Node) -> bool:
    value = _first(node)
    view, shape = new.view(value), new.graph.type(value).shape
    if not isinstance(node.attrs, Transpose):
        return False
    arrangement = view.arrangement.transposed(shape, node.attrs.order)
    if arrangement is None:
        return False
    new.hold(node.outputs[0], View(view.base, arrangement))
    return True


def _reshape(new: Rebuild, node: Node) -> bool:
    view = new.view(_first(node))
    arrangement = view.arrangement.reshaped(new.graph.type(node.outputs[0]).shape)
    if arrangement is None:
        return False
    new.hold(node.outputs[0], View(view.base, arrangement))
    return True


def _unary(new: Rebuild, node: Node) -> bool:
    """Element by element: the base may have any shape."""
    value, output = _first(node), node.outputs[0]
    view, type_ = new.view(value), new.graph.type(output)
    if view.arrangement.is_plain:
        return False
    base = new.type(view.base).shape
    fits, quant = quant_in_base(type_.quant, view, type_.shape, base)
    source = new.graph.type(value).quant
    carried, _ = quant_in_base(source, view, type_.shape, base)
    if not (fits and carried):
        return False
    # What else such a node takes, as the table of Lookup, is the same for every element.
    others = tuple(None if other is None else new.made(other) for other in node.inputs[1:])
    made = new.emit(node, node.attrs, (view.base, *others), TensorType(type_.dtype, base, quant))
    new.hold(output, View(made, view.arrangement))
    return True


def _reinterpret(new: Rebuild, node: Node) -> bool:
    """Constants take the other type at once."""
    return new.retyped(node) or _unary(new, node)


def _leader(new: Rebuild, node: Node, shape: Shape) -> Aligned | None:
    """The arrangement that a node of several operands takes over: that of one as large as the result."""
    for value in node.inputs:
        if value is None or new.is_constant(value) or new.graph.type(value).shape != shape:
            continue
        view = new.view(value)
        found = aligned(view.arrangement, shape)
        if not view.arrangement.is_plain and found is not None:
            return found
    return None


def _operand(new: Rebuild, value: int, found: Aligned) -> int | None:
    """An operand, broadcast extents kept, in the axes of the leader's base."""
    type_ = new.graph.type(value)
    rank = len(found.order)
    shape = (1,) * (rank - len(type_.shape)) + type_.shape
    view = new.view(value)
    inverse = tuple(np.argsort(found.order).tolist())
    arrangement = view.arrangement.transposed(shape, inverse)
    if arrangement is None:
        return None
    turned = tuple(shape[axis] for axis in inverse)
    quant = type_.quant
    if quant is not None and quant.axis is not None:
        axis = quant.axis + rank - len(type_.shape)
        quant = dataclasses.replace(quant, axis=inverse.index(axis))
    return new.arranged(View(view.base, arrangement), turned, quant, new.graph.values[value].name)


def _several(new: Rebuild, node: Node) -> bool:
    """Element by element over operands that broadcast."""
    output = node.outputs[0]
    type_ = new.graph.type(output)
    if type_.quant is not None and not type_.quant.per_tensor:
        return False
    found = _leader(new, node, type_.shape)
    if found is None or any(
        value is not None and len(new.graph.type(value).shape) > len(type_.shape) for value in node.inputs
    ):
        return False
    operands = [None if value is None else _operand(new, value, found) for value in node.inputs]
    if any(made is None and value is not None for made, value in zip(operands, node.inputs, strict=True)):
        return False
    made = new.emit(node, node.attrs, tuple(operands), TensorType(type_.dtype, found.shape, type_.quant))
    new.hold(output, _turned(made, found.shape, found.order))
    return True


def _turned(made: int, shape: Shape, order: Shape) -> View:
    arrangement = plain(shape).transposed(shape, order)
    if arrangement is None:
        raise ValueError("a shape always fits itself")
    return View(made, arrangement)


def _along(new: Rebuild, node: Node) -> tuple[Aligned, int] | None:
    """The aligned base of the first operand, made; None where it is plain, or quantized by axis."""
    value = _first(node)
    type_ = new.graph.type(value)
    view = new.view(value)
    if view.arrangement.is_plain or (type_.quant is not None and not type_.quant.per_tensor):
        return None
    found = aligned(view.arrangement, type_.shape)
    if found is None:
        return None
    base = _operand(new, value, found)
    return None if base is None else (found, base)


def _settle(new: Rebuild, node: Node, made: int, found: Aligned) -> bool:
    """The node's output, computed in the aligned base's axes."""
    new.hold(node.outputs[0], _turned(made, new.type(made).shape, found.order))
    return True


def _one_axis(new: Rebuild, node: Node) -> bool:
    """Along one axis; further operands have nothing to do with the data's axes."""
    along = _along(new, node)
    axis: int | None = getattr(node.attrs, "axis", None)
    if along is None or axis is None:
        return False
    found, base = along
    type_ = new.graph.type(node.outputs[0])
    rest = tuple(None if other is None else new.made(other) for other in node.inputs[1:])
    attrs = dataclasses.replace(node.attrs, axis=found.order[axis])  # type: ignore[type-var]
    shape = found.moved(type_.shape)
    return _settle(
        new, node, new.emit(node, attrs, (base, *rest), TensorType(type_.dtype, shape, type_.quant)), found
    )


def _take(new: Rebuild, node: Node) -> bool:
    along = _along(new, node)
    if along is None or not isinstance(node.attrs, Take):
        return False
    found, base = along
    type_ = new.graph.type(node.outputs[0])
    attrs = Take(tuple(node.attrs.places[found.order.index(axis)] for axis in range(len(found.order))))
    made = new.emit(node, attrs, (base,), TensorType(type_.dtype, found.moved(type_.shape), type_.quant))
    return _settle(new, node, made, found)


def _normalize(new: Rebuild, node: Node) -> bool:
    """Over any axes; scale and bias broadcast."""
    along, attrs = _along(new, node), node.attrs
    if along is None or not isinstance(attrs, Normalization):
        return False
    found, base = along
    rank = len(found.order)
    if any(value is not None and len(new.graph.type(value).shape) > rank for value in node.inputs[1:]):
        return False
    rest = [None if value is None else _operand(new, value, found) for value in node.inputs[1:]]
    if any(made is None and value is not None for made, value in zip(rest, node.inputs[1:], strict=True)):
        return False
    moved = dataclasses.replace(attrs, axes=tuple(sorted(found.order[axis] for axis in attrs.axes)))
    type_ = new.graph.type(node.outputs[0])
    made = new.emit(node, moved, (base, *rest), TensorType(type_.dtype, found.shape, type_.quant))
    return _settle(new, node, made, found)


def _pad(new: Rebuild, node: Node) -> bool:
    along = _along(new, node)
    if along is None or not isinstance(node.attrs, Pad) or len(node.inputs) != 1:
        return False
    found, base = along
    type_ = new.graph.type(node.outputs[0])
    padding = tuple(node.attrs.padding[found.order.index(axis)] for axis in range(len(found.order)))
    shape = found.moved(type_.shape)
    made = new.emit(
        node,
        dataclasses.replace(node.attrs, padding=padding),
        (base,),
        TensorType(type_.dtype, shape, type_.quant),
    )
    new.hold(node.outputs[0], _turned(made, shape, found.order))
    return True


def _slice(new: Rebuild, node: Node) -> bool:
    along = _along(new, node)
    if along is None or not isinstance(node.attrs, Slice) or len(node.inputs) != 1:
        return False
    (found, base), attrs = along, node.attrs
    type_ = new.graph.type(node.outputs[0])
    shape = found.moved(attrs.size)
    moved = Slice(found.moved(attrs.begin), shape, found.moved(attrs.stride))
    made = new.emit(node, moved, (base,), TensorType(type_.dtype, shape, type_.quant))
    kept = _turned(made, shape, found.order)
    return _held_as(new, node.outputs[0], kept, attrs.size)


def _held_as(new: Rebuild, output: int, view: View, shape: Shape) -> bool:
    """The output is the view, of this shape, without some axes of extent 1."""
    arrangement = view.arrangement.reshaped(shape)
    if arrangement is not None:
        arrangement = arrangement.reshaped(new.graph.type(output).shape)
    if arrangement is None:
        raise ValueError("extents of 1 change no arrangement")
    new.hold(output, View(view.base, arrangement))
    return True


def _reduce(new: Rebuild, node: Node) -> bool:
    """Over any axes: they are others of the base, and stay there with extent 1."""
    along = _along(new, node)
    axes: tuple[int, ...] | None = getattr(node.attrs, "axes", None)
    if along is None or axes is None or not hasattr(node.attrs, "keep_dims") or len(node.inputs) != 1:
        return False
    found, base = along
    type_ = new.graph.type(node.outputs[0])
    moved = tuple(sorted(found.order[axis] for axis in axes))
    shape = tuple(1 if axis in moved else extent for axis, extent in enumerate(found.shape))
    attrs = dataclasses.replace(node.attrs, axes=moved, keep_dims=True)  # type: ignore[type-var]
    made = new.emit(node, attrs, (base,), TensorType(type_.dtype, shape, type_.quant))
    kept = tuple(shape[axis] for axis in found.order)
    return _held_as(new, node.outputs[0], _turned(made, shape, found.order), kept)


def _last_axis(new: Rebuild, node: Node) -> bool:
    """Over the last axis, if that is the last one of the base too."""
    along = _along(new, node)
    if along is None or len(node.inputs) != 1:
        return False
    found, base = along
    if found.order[-1] != len(found.order) - 1:
        return False
    type_ = new.graph.type(node.outputs[0])
    made = new.emit(node, node.attrs, (base,), TensorType(type_.dtype, found.shape, type_.quant))
    new.hold(node.outputs[0], _turned(made, found.shape, found.order))
    return True


def _concatenate(new: Rebuild, node: Node) -> bool:
    attrs, type_ = node.attrs, new.graph.type(node.outputs[0])
    if not isinstance(attrs, Concatenation) or attrs.stacks:
        return False
    if type_.quant is not None and not type_.quant.per_tensor:
        return False
    found = None
    for value in node.inputs:
        if value is None or new.is_constant(value):
            continue
        view, shape = new.view(value), new.graph.type(value).shape
        candidate = aligned(view.arrangement, shape)
        if not view.arrangement.is_plain and candidate is not None:
            found = candidate
            break
    if found is None:
        return False
    operands = [None if value is None else _operand(new, value, found) for value in node.inputs]
    if None in operands:
        return False
    shape = found.moved(type_.shape)
    moved = dataclasses.replace(attrs, axis=found.order[attrs.axis])
    made = new.emit(node, moved, tuple(operands), TensorType(type_.dtype, shape, type_.quant))
    new.hold(node.outputs[0], _turned(made, shape, found.order))
    return True


def _fully_connected(new: Rebuild, node: Node) -> bool:
    """Vectors whose elements are only reordered: the columns of constant weights are reordered instead."""
    if not isinstance(node.attrs, FullyConnected) or len(node.inputs) < 2:
        return False
    value, weights = node.inputs[0], node.inputs[1]
    if value is None or weights is None or not new.is_constant(weights):
        return False
    view, type_, table = new.view(value), new.graph.type(value), new.graph.type(weights)
    depth = table.shape[-1]
    runs = view.arrangement.runs((math.prod(type_.shape) // depth, depth))
    quant = table.quant
    if view.arrangement.is_plain or runs is None or (quant is not None and quant.axis == 1):
        return False
    rows, columns = runs
    if rows != tuple(range(len(rows))) or sorted(columns) != list(
        range(len(rows), len(view.arrangement.dims))
    ):
        return False
    own = new.view(weights)
    extents = tuple(view.arrangement.dims[index] for index in columns)
    split = own.arrangement.reshaped((table.shape[0], *extents))
    if split is None:
        return False
    back = np.argsort(columns).tolist()
    turned = split.transposed((table.shape[0], *extents), (0, *(1 + axis for axis in back)))
    if turned is None:
        return False
    name = new.graph.values[weights].name
    reordered = new.arranged(View(own.base, turned), table.shape, quant, name)
    flat = new.arranged(
        View(view.base, plain(new.type(view.base).shape)),
        type_.shape,
        type_.quant,
        new.graph.values[value].name,
    )
    rest = tuple(None if other is None else new.made(other) for other in node.inputs[2:])
    output = new.graph.type(node.outputs[0])
    made = new.emit(node, node.attrs, (flat, reordered, *rest), output)
    new.hold(node.outputs[0], View(made, plain(output.shape)))
    return True


_UNARY = (
    *(
        "Cast",
        "Clip",
        "Dequantize",
        "HardSwish",
        "Interpolated",
        "LeakyRelu",
        "Logistic",
        "Lookup",
        "Quantize",
    ),
    *("Relu", "Requantize", "Tanh", "Unary"),
)
_SEVERAL = ("Add", "Binary", "Compare", "Logical", "Maximum", "Minimum", "Mul", "Prelu", "Sub", "Where")
_REDUCING = ("ArgMax", "ArgMin", "Mean", "Reduce", "ReduceMax", "ReduceMin", "Sum")
_ALONG_ONE = ("CumSum", "Resample")

MOVES: dict[str, Move] = {
    "Concatenation": _concatenate,
    "FullyConnected": _fully_connected,
    "Normalization": _normalize,
    "LogSoftmax": _last_axis,
    "Pad": _pad,
    "Reinterpret": _reinterpret,
    "Reshape": _reshape,
    "Slice": _slice,
    "Softmax": _last_axis,
    "Take": _take,
    "Transpose": _transpose,
    **dict.fromkeys(_ALONG_ONE, _one_axis),
    **dict.fromkeys(_REDUCING, _reduce),
    **dict.fromkeys(_SEVERAL, _several),
    **dict.fromkeys(_UNARY, _unary),
}
"""Operators that a transpose passes; all others get their operands as they were."""
