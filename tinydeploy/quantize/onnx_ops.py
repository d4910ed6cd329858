"""The other operators as ONNX nodes. Where the order of axes does not matter, the one at hand is kept."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tinydeploy.ir import DType, Node
from tinydeploy.ops.batch_mat_mul import BatchMatMul
from tinydeploy.ops.binary_function import Binary
from tinydeploy.ops.clip import Clip
from tinydeploy.ops.concatenation import Concatenation
from tinydeploy.ops.dequantize import Dequantize
from tinydeploy.ops.gather import Gather
from tinydeploy.ops.leaky_relu import LeakyRelu
from tinydeploy.ops.normalization import Norm, Normalization
from tinydeploy.ops.pad import Border, Pad
from tinydeploy.ops.quantize import Quantize
from tinydeploy.ops.quantized import Activation
from tinydeploy.ops.relu import Relu
from tinydeploy.ops.reshape import Reshape
from tinydeploy.ops.slice import Slice
from tinydeploy.ops.softmax import Softmax
from tinydeploy.ops.take import Take
from tinydeploy.ops.tile import Tile
from tinydeploy.ops.transpose import Transpose
from tinydeploy.ops.unary_function import Unary
from tinydeploy.quantize import onnx_windows as windows
from tinydeploy.quantize.onnx_values import ELEMENTS, TO_NCHW, Order, Values, same
from tinydeploy.quantize.onnx_windows import clamped, finish, operand

Write = Callable[[Values, Node], None]


def _quantize(values: Values, node: Node) -> None:
    assert isinstance(node.attrs, Quantize)
    source, result = values.any_form(operand(node, 0)), node.outputs[0]
    quant = values.graph.type(result).quant
    assert quant is not None
    name = values.define(result, source.order)
    scales = values.scales(name, quant, values.graph.type(result).dtype)
    axis = {} if quant.axis is None else {"axis": source.order.index(quant.axis)}
    values.add("QuantizeLinear", [source.name, *scales], [name], **axis)


def _dequantize(values: Values, node: Node) -> None:
    assert isinstance(node.attrs, Dequantize)
    source, result = operand(node, 0), node.outputs[0]
    type_ = values.graph.type(source)
    quant = type_.quant
    assert quant is not None

    def written(order: Order) -> str:
        taken = values.forms(result)
        label = values.graph.values[result].name
        name = values.unique(label if not taken else f"{label}_turned")
        axis = {} if quant.axis is None else {"axis": order.index(quant.axis)}
        scales = values.scales(name, quant, type_.dtype)
        values.add("DequantizeLinear", [values.want(source, order), *scales], [name], **axis)
        return name

    if values.graph.values[source].is_constant:
        values.defer(result, written)
    else:
        order = values.any_form(source).order
        values.alias(result, order, written(order))


def _transpose(values: Values, node: Node) -> None:
    """No node: another name's order for the same tensor; who needs the graph's own order turns it."""
    assert isinstance(node.attrs, Transpose)
    source, result, order = operand(node, 0), node.outputs[0], node.attrs.order
    values.any_form(source)
    for form in values.forms(source):
        values.alias(result, tuple(order.index(axis) for axis in form.order), form.name)


def _common(values: Values, node: Node) -> Order:
    """An order in which all operands of one rank are there, or the graph's own."""
    rank = values.rank(node.outputs[0])
    operands = [value for value in node.inputs if value is not None]
    if any(values.rank(value) != rank for value in operands):
        return same(rank)
    there = [value for value in operands if not values.is_deferred(value)]
    for value in there:
        for form in reversed(values.forms(value)):
            if all(any(f.order == form.order for f in values.forms(other)) for other in there):
                return form.order
    return values.any_form(there[0]).order if there else same(rank)


def _elementwise(op: str) -> Write:
    def write(values: Values, node: Node) -> None:
        order = _common(values, node)
        own = order == same(len(order))
        inputs = [values.want(value, None if own else order) for value in node.inputs if value is not None]
        activation: Activation = getattr(node.attrs, "activation", Activation.NONE)
        inner, clamp = clamped(values, node, order, activation)
        values.add(op, inputs, [inner])
        finish(values, inner, clamp, activation)

    return write


def _unary(op: str, **attributes: object) -> Write:
    def write(values: Values, node: Node) -> None:
        source = values.any_form(operand(node, 0))
        values.add(op, [source.name], [values.define(node.outputs[0], source.order)], **attributes)

    return write


def _relu(values: Values, node: Node) -> None:
    assert isinstance(node.attrs, Relu)
    source = values.any_form(operand(node, 0))
    name = values.define(node.outputs[0], source.order)
    finish(values, source.name, [name], node.attrs.activation)


def _clip(values: Values, node: Node) -> None:
    assert isinstance(node.attrs, Clip)
    source = values.any_form(operand(node, 0))
    name = values.define(node.outputs[0], source.order)
    bounds = [
        "" if bound is None else values.literal(f"{name}_{side}", np.array(bound, np.float32))
        for side, bound in (("low", node.attrs.low), ("high", node.attrs.high))
    ]
    values.add("Clip", [source.name, *bounds], [name])


def _leaky_relu(values: Values, node: Node) -> None:
    assert isinstance(node.attrs, LeakyRelu)
    _unary("LeakyRelu", alpha=node.attrs.alpha)(values, node)


_FUNCTIONS = {
    "abs": "Abs",
    "acos": "Acos",
    "acosh": "Acosh",
    "asin": "Asin",
    "asinh": "Asinh",
    "atan": "Atan",
    "atanh": "Atanh",
    "ceil": "Ceil",
    "cos": "Cos",
    "cosh": "Cosh",
    "erf": "Erf",
    "exp": "Exp",
    "floor": "Floor",
    "log": "Log",
    "mish": "Mish",
    "neg": "Neg",
    "reciprocal": "Reciprocal",
    "round": "Round",
    "sign": "Sign",
    "sin": "Sin",
    "sinh": "Sinh",
    "softplus": "Softplus",
    "softsign": "Softsign",
    "sqrt": "Sqrt",
    "tan": "Tan",
}
_WITH_ALPHA = {"elu": "Elu", "celu": "Celu", "thresholded_relu": "ThresholdedRelu"}


def _function(values: Values, node: Node) -> None:
    attrs = node.attrs
    assert isinstance(attrs, Unary)
    name = attrs.function.value
    if name in _FUNCTIONS:
        _unary(_FUNCTIONS[name])(values, node)
    elif name in _WITH_ALPHA:
        _unary(_WITH_ALPHA[name], alpha=attrs.alpha)(values, node)
    elif name == "hard_sigmoid":
        _unary("HardSigmoid", alpha=attrs.alpha, beta=attrs.beta)(values, node)
    elif name == "selu":
        _unary("Selu", alpha=attrs.alpha, gamma=attrs.beta)(values, node)
    elif name in ("gelu", "gelu_tanh"):
        _unary("Gelu", approximate="tanh" if name == "gelu_tanh" else "none")(values, node)
    else:
        raise ValueError(f"{node.name!r}: the function {name} is not written")


def _binary(values: Values, node: Node) -> None:
    assert isinstance(node.attrs, Binary)
    found = {"div": "Div", "pow": "Pow"}.get(node.attrs.function.value)
    if found is None:
        raise ValueError(f"{node.name!r}: the function {node.attrs.function.value} is not written")
    _elementwise(found)(values, node)


def _last_axis(op: str) -> Write:
    def write(values: Values, node: Node) -> None:
        if isinstance(node.attrs, Softmax) and node.attrs.beta != 1.0:
            raise ValueError(f"{node.name!r}: a softmax with beta {node.attrs.beta:g} is not written")
        source = values.any_form(operand(node, 0))
        axis = source.order.index(len(source.order) - 1)
        values.add(op, [source.name], [values.define(node.outputs[0], source.order)], axis=axis)

    return write


def _reduction(op: str) -> Write:
    def write(values: Values, node: Node) -> None:
        axes: tuple[int, ...] = node.attrs.axes  # type: ignore[attr-defined]
        keep: bool = node.attrs.keep_dims  # type: ignore[attr-defined]
        data, result = operand(node, 0), node.outputs[0]
        if axes == (1, 2) and keep and values.rank(data) == 4 and op == "ReduceMean":
            values.add("GlobalAveragePool", [values.want(data, TO_NCHW)], [values.define(result, TO_NCHW)])
            return
        name = values.define(result, same(values.rank(result)))
        inputs = [values.want(data)]
        # Sum takes its axes as an input from opset 13 on, the others from 18 on; see ``OPSET``.
        if op == "ReduceSum":
            inputs.append(values.literal(f"{name}_axes", np.array(axes, np.int64)))
            values.add(op, inputs, [name], keepdims=int(keep))
        else:
            values.add(op, inputs, [name], axes=list(axes), keepdims=int(keep))

    return write


def _concatenation(values: Values, node: Node) -> None:
    assert isinstance(node.attrs, Concatenation)
    if node.attrs.stacks:
        raise ValueError(f"{node.name!r}: stacking is not written")
    order = _common(values, node)
    inputs = [values.want(value, order) for value in node.inputs if value is not None]
    name = values.define(node.outputs[0], order)
    values.add("Concat", inputs, [name], axis=order.index(node.attrs.axis))


def _reshape(values: Values, node: Node) -> None:
    assert isinstance(node.attrs, Reshape)
    source, result = values.want(operand(node, 0)), node.outputs[0]
    name = values.define(result, same(values.rank(result)))
    shape = values.literal(f"{name}_shape", np.array(node.attrs.shape, np.int64))
    values.add("Reshape", [source, shape], [name])


def _pad(values: Values, node: Node) -> None:
    attrs = node.attrs
    assert isinstance(attrs, Pad)
    source = values.any_form(operand(node, 0))
    name = values.define(node.outputs[0], source.order)
    pairs = [attrs.padding[axis] for axis in source.order]
    pads = np.array([before for before, _ in pairs] + [after for _, after in pairs], np.int64)
    inputs = [source.name, values.literal(f"{name}_pads", pads)]
    mode = {Border.CONSTANT: "constant"}.get(attrs.border, attrs.border.value)
    if attrs.border is Border.CONSTANT:
        inputs.append(values.literal(f"{name}_value", np.array(attrs.value, np.float32)))
    if mode not in ("constant", "reflect", "edge"):
        raise ValueError(f"{node.name!r}: padding by {mode} is not written")
    values.add("Pad", inputs, [name], mode=mode)


def _slice(values: Values, node: Node) -> None:
    attrs = node.attrs
    assert isinstance(attrs, Slice)
    source, result = values.want(operand(node, 0)), node.outputs[0]
    name = values.define(result, same(values.rank(result)))
    ends = []
    for begin, size, stride in zip(attrs.begin, attrs.size, attrs.stride, strict=True):
        end = begin + (size - 1) * stride + (1 if stride > 0 else -1)
        ends.append(end if end >= 0 else -(1 << 31))
    numbers = {
        "starts": attrs.begin,
        "ends": ends,
        "axes": range(len(attrs.begin)),
        "steps": attrs.stride,
    }
    inputs = [values.literal(f"{name}_{key}", np.array(list(n), np.int64)) for key, n in numbers.items()]
    if not attrs.dropped:
        values.add("Slice", [source, *inputs], [name])
        return
    inner = values.unique(f"{name}_slice")
    values.add("Slice", [source, *inputs], [inner])
    axes = values.literal(f"{name}_dropped", np.array(attrs.dropped, np.int64))
    values.add("Squeeze", [inner, axes], [name])


def _gather(values: Values, node: Node) -> None:
    attrs = node.attrs
    assert isinstance(attrs, Gather)
    result = node.outputs[0]
    name = values.define(result, same(values.rank(result)))
    if attrs.batch_dims:
        raise ValueError(f"{node.name!r}: batches of indices are not written")
    if attrs.indices is None:
        indices = values.want(operand(node, 1))
    else:
        array = np.array(attrs.indices, np.int64).reshape(attrs.shape)
        indices = values.literal(f"{name}_indices", array)
    values.add("Gather", [values.want(operand(node, 0)), indices], [name], axis=attrs.axis)


def _take(values: Values, node: Node) -> None:
    """One Gather per axis; the name of the last one is the node's."""
    assert isinstance(node.attrs, Take)
    source = values.any_form(operand(node, 0))
    axes = [(axis, places) for axis, places in enumerate(node.attrs.places) if places is not None]
    name = source.name
    for number, (axis, places) in enumerate(axes):
        last = number == len(axes) - 1
        result = values.define(node.outputs[0], source.order) if last else values.unique(f"{name}_taken")
        indices = values.literal(f"{result}_places", np.array(places, np.int64))
        values.add("Gather", [name, indices], [result], axis=source.order.index(axis))
        name = result
    if not axes:
        values.alias(node.outputs[0], source.order, name)


def _tile(values: Values, node: Node) -> None:
    assert isinstance(node.attrs, Tile)
    source = values.any_form(operand(node, 0))
    name = values.define(node.outputs[0], source.order)
    repeats = np.array([node.attrs.repeats[axis] for axis in source.order], np.int64)
    values.add("Tile", [source.name, values.literal(f"{name}_repeats", repeats)], [name])


def _mat_mul(values: Values, node: Node) -> None:
    attrs = node.attrs
    assert isinstance(attrs, BatchMatMul)
    names = []
    for value, turned in ((operand(node, 0), attrs.transpose_a), (operand(node, 1), attrs.transpose_b)):
        own = same(values.rank(value))
        names.append(values.want(value, (*own[:-2], own[-1], own[-2]) if turned else own))
    values.add("MatMul", names, [values.define(node.outputs[0], same(values.rank(node.outputs[0])))])


def _normalization(values: Values, node: Node) -> None:
    attrs = node.attrs
    assert isinstance(attrs, Normalization)
    data, rank = operand(node, 0), values.rank(node.outputs[0])
    if attrs.norm is not Norm.VARIANCE or attrs.axes != (rank - 1,):
        raise ValueError(f"{node.name!r}: normalization {attrs.norm.value} over {attrs.axes} is not written")
    name = values.define(node.outputs[0], same(rank))
    size = values.graph.type(data).shape[-1]
    scale = values.want(node.inputs[1]) if len(node.inputs) > 1 and node.inputs[1] is not None else None
    scale = scale or values.literal(f"{name}_ones", np.ones(size, np.float32))
    bias = [values.want(value) for value in node.inputs[2:3] if value is not None]
    values.add(
        "LayerNormalization", [values.want(data), scale, *bias], [name], axis=-1, epsilon=attrs.epsilon
    )


def _cast(values: Values, node: Node) -> None:
    to: DType = node.attrs.to  # type: ignore[attr-defined]
    _unary("Cast", to=int(ELEMENTS[to]))(values, node)


OPERATORS: dict[str, Write] = {
    "Add": _elementwise("Add"),
    "AveragePool2D": windows.pool,
    "BatchMatMul": _mat_mul,
    "Binary": _binary,
    "Cast": _cast,
    "Clip": _clip,
    "Concatenation": _concatenation,
    "Conv2D": windows.convolution,
    "DepthwiseConv2D": windows.convolution,
    "Dequantize": _dequantize,
    "FullyConnected": windows.dense,
    "Gather": _gather,
    "GroupedConv2D": windows.convolution,
    "HardSwish": _unary("HardSwish"),
    "LeakyRelu": _leaky_relu,
    "LogSoftmax": _last_axis("LogSoftmax"),
    "Logistic": _unary("Sigmoid"),
    "MaxPool2D": windows.pool,
    "Maximum": _elementwise("Max"),
    "Mean": _reduction("ReduceMean"),
    "Minimum": _elementwise("Min"),
    "Mul": _elementwise("Mul"),
    "Normalization": _normalization,
    "Pad": _pad,
    "Prelu": _elementwise("PRelu"),
    "Quantize": _quantize,
    "ReduceMax": _reduction("ReduceMax"),
    "ReduceMin": _reduction("ReduceMin"),
    "Relu": _relu,
    "Reshape": _reshape,
    "Slice": _slice,
    "Softmax": _last_axis("Softmax"),
    "Sub": _elementwise("Sub"),
    "Sum": _reduction("ReduceSum"),
    "Take": _take,
    "Tanh": _unary("Tanh"),
    "Tile": _tile,
    "Transpose": _transpose,
    "TransposeConv": windows.transpose_conv,
    "Unary": _function,
}
