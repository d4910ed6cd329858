"""Operators that take steps with their scales: each is its float operator between Dequantize and Quantize.

The pass ``integerize`` makes one integer operator of the three again.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tinydeploy.frontends.onnx.builder import Ref
from tinydeploy.frontends.onnx.context import Context, Rule
from tinydeploy.frontends.onnx.rules import matrices, normalization, pools, windows
from tinydeploy.frontends.onnx.rules.quantized import dequantized, numbers_of, quant_of, steps_of_inputs
from tinydeploy.ir import DType
from tinydeploy.ops.add import Add
from tinydeploy.ops.cast import Cast
from tinydeploy.ops.concatenation import Concatenation
from tinydeploy.ops.leaky_relu import LeakyRelu
from tinydeploy.ops.logistic import Logistic
from tinydeploy.ops.mean import Mean
from tinydeploy.ops.mul import Mul
from tinydeploy.ops.where import Where


def _number(context: Context, data: int, scale: int, axis: int = 0) -> Ref:
    """The real numbers of a quantized input."""
    return numbers_of(context, data, scale, axis, tag=f"in{data}")


def _result(context: Context, ref: Ref, scale: int, default: DType) -> None:
    """The node's output: real numbers in the quantization that two inputs tell."""
    point = context.optional(scale + 1)
    dtype = default if point is None else point.dtype
    context.set(steps_of_inputs(context, ref, scale, 0, dtype))


def _by(context: Context, rule: Rule, *inputs: Ref | None) -> Ref:
    """What another operator's rule makes of other inputs."""
    context.substitute(*inputs)
    rule(context)
    result = context.results[0]
    if not isinstance(result, Ref):
        raise context.fault("it depends on constants alone")
    return result


def _settle(context: Context, rule: Rule, scale: int, default: DType, *inputs: Ref | None) -> None:
    """The node's output by another operator's rule; its scale is told by inputs of the node."""
    own = context.given
    ref = _by(context, rule, *inputs)
    context.substitute(*own)
    _result(context, ref, scale, default)


def _bias(context: Context, index: int, data_scale: int, weight_scale: int) -> Ref | None:
    """int32 steps of the product of two scales as real numbers."""
    bias = context.optional(index)
    if bias is None:
        return None
    scales = [context.constant(index) for index in (data_scale, weight_scale)]
    if any(scale is None for scale in scales):
        return _computed_bias(context, bias, data_scale, weight_scale)
    first, second = (np.asarray(scale, np.float64).reshape(-1) for scale in scales)
    product = first * second
    axis = bias.rank - 1 if product.size > 1 else 0
    return dequantized(context, bias, quant_of(context, product, None, bias.shape, axis), tag="bias")


def _computed_bias(context: Context, bias: Ref, data_scale: int, weight_scale: int) -> Ref:
    """The same with scales of the run."""
    numbers = context.emit(Cast(DType.FLOAT32), bias, tag="bias/real")
    factors = [context.input(index) for index in (data_scale, weight_scale)]
    flat = [context.reshape(factor, (factor.type.elements,)) for factor in factors]
    return context.emit(Mul(), numbers, context.emit(Mul(), *flat, tag="bias/scale"), tag="bias")


def _conv(context: Context) -> None:
    data, weights = _number(context, 0, 1), _number(context, 3, 4, axis=0)
    bias = _bias(context, 8, 1, 4)
    _settle(context, windows.RULES["Conv"], 6, context.input(0).dtype, data, weights, bias)


def _matmul(context: Context) -> None:
    a, b = context.input(0), context.input(3)
    left, right = _number(context, 0, 1, axis=a.rank - 2), _number(context, 3, 4, axis=b.rank - 1)
    _settle(context, matrices.RULES["MatMul"], 6, a.dtype, left, right)


def _gemm(context: Context) -> None:
    a = context.input(0)
    weights_axis = 0 if context.int_("transB", 0) else 1
    left, right = _number(context, 0, 1), _number(context, 3, 4, axis=weights_axis)
    bias = _bias(context, 6, 1, 4)
    if context.inputs_given > 7 and context.optional(7) is not None:
        _settle(context, matrices.RULES["Gemm"], 7, a.dtype, left, right, bias)
        return
    context.set(_by(context, matrices.RULES["Gemm"], left, right, bias))


def _binary(attrs: Callable[[], Add | Mul]) -> Rule:
    def rule(context: Context) -> None:
        a, b = _number(context, 0, 1), _number(context, 3, 4)
        _result(context, context.emit(attrs(), a, b, tag="real"), 6, context.input(0).dtype)

    return rule


def _sigmoid(context: Context) -> None:
    result = context.emit(Logistic(), _number(context, 0, 1), tag="real")
    _result(context, result, 3, context.input(0).dtype)


def _leaky_relu(context: Context) -> None:
    attrs = LeakyRelu(context.float_("alpha", 0.01))
    _result(context, context.emit(attrs, _number(context, 0, 1), tag="real"), 3, context.input(0).dtype)


def _channels_first(context: Context) -> None:
    if context.int_("channels_last", 0):
        context.refuse("its channels are last", "export it with channels first, as ONNX has them")


def _average_pool(context: Context) -> None:
    _channels_first(context)
    data = _number(context, 0, 1)
    _settle(context, pools.RULES["AveragePool"], 3, context.input(0).dtype, data)


def _global_average_pool(context: Context) -> None:
    _channels_first(context)
    data = _number(context, 0, 1)
    _settle(context, pools.RULES["GlobalAveragePool"], 3, context.input(0).dtype, data)


def _softmax(context: Context) -> None:
    data = _number(context, 0, 1)
    # The node's own attribute says which version of Softmax it means; coercion to 2-D is that before 13.
    opset = context.opset
    context.opset = context.int_("opset", 13)
    _settle(context, normalization.RULES["Softmax"], 3, context.input(0).dtype, data)
    context.opset = opset


def _concat(context: Context) -> None:
    count = (context.inputs_given - 2) // 3
    if count < 1 or context.inputs_given != 3 * count + 2:
        raise context.fault(f"{context.inputs_given} inputs; it takes 2 and 3 for each tensor")
    parts = [_number(context, 2 + 3 * k, 3 + 3 * k) for k in range(count)]
    rank = parts[0].rank
    axis = context.int_("axis")
    if not -rank <= axis < rank:
        raise context.fault(f"axis {axis} of {rank} dimensions")
    result = context.emit(Concatenation(axis % rank), *parts, tag="real")
    _result(context, result, 0, context.input(2).dtype)


def _reduce_mean(context: Context) -> None:
    data = _number(context, 0, 1)
    axes = context.ints("axes", tuple(range(data.rank)))
    if any(not -data.rank <= axis < data.rank for axis in axes):
        raise context.fault(f"axes {list(axes)} of {data.rank} dimensions")
    attrs = Mean(tuple(sorted({axis % data.rank for axis in axes})), bool(context.int_("keepdims", 1)))
    _result(context, context.emit(attrs, data, tag="real"), 3, context.input(0).dtype)


def _where(context: Context) -> None:
    a, b = _number(context, 1, 2), _number(context, 4, 5)
    _result(context, context.emit(Where(), context.input(0), a, b, tag="real"), 7, context.input(1).dtype)


RULES: dict[str, Rule] = {
    "QLinearConv": _conv,
    "QLinearMatMul": _matmul,
    "com.microsoft.QGemm": _gemm,
    "com.microsoft.QLinearAdd": _binary(Add),
    "com.microsoft.QLinearAveragePool": _average_pool,
    "com.microsoft.QLinearConcat": _concat,
    "com.microsoft.QLinearConv": _conv,
    "com.microsoft.QLinearGlobalAveragePool": _global_average_pool,
    "com.microsoft.QLinearLeakyRelu": _leaky_relu,
    "com.microsoft.QLinearMul": _binary(Mul),
    "com.microsoft.QLinearReduceMean": _reduce_mean,
    "com.microsoft.QLinearSigmoid": _sigmoid,
    "com.microsoft.QLinearSoftmax": _softmax,
    "com.microsoft.QLinearWhere": _where,
}
