"""Import rules of the elementwise operators."""

from __future__ import annotations

from typing import Any

import tflite

from tinydeploy.frontends.tflite.context import Context, Imported
from tinydeploy.frontends.tflite.rules.shared import Rule, activation
from tinydeploy.ir import Attrs, DType
from tinydeploy.ops.add import Add
from tinydeploy.ops.dequantize import Dequantize
from tinydeploy.ops.hard_swish import HardSwish
from tinydeploy.ops.leaky_relu import LeakyRelu
from tinydeploy.ops.logistic import Logistic
from tinydeploy.ops.maximum import Maximum
from tinydeploy.ops.minimum import Minimum
from tinydeploy.ops.mul import Mul
from tinydeploy.ops.prelu import Prelu
from tinydeploy.ops.quantize import Quantize
from tinydeploy.ops.quantized import Activation
from tinydeploy.ops.relu import Relu
from tinydeploy.ops.requantize import Requantize
from tinydeploy.ops.sub import Sub
from tinydeploy.ops.tanh import Tanh


def _fused(attrs: type[Add] | type[Sub] | type[Mul], kind: int, table: type[Any]) -> Rule:
    """Two operands and a fused activation."""

    def rule(context: Context) -> Imported:
        context.operands(2, 2)
        options = context.options(kind, table)
        number = tflite.ActivationFunctionType.NONE if options is None else options.FusedActivationFunction()
        return Imported(attrs(activation=activation(context, number)), context.operation.inputs)

    return rule


def _plain(attrs: Attrs, operands: int) -> Rule:
    """Operands and no options that say anything."""

    def rule(context: Context) -> Imported:
        context.operands(operands, operands)
        return Imported(attrs, context.operation.inputs)

    return rule


def _leaky_relu(context: Context) -> Imported:
    context.operands(1, 1)
    options = context.required_options(tflite.BuiltinOptions.LeakyReluOptions, tflite.LeakyReluOptions)
    return Imported(LeakyRelu(options.Alpha()), context.operation.inputs)


def _quantize(context: Context) -> Imported:
    context.operands(1, 1)
    dtype = context.output.dtype or DType.INT8
    attrs: Attrs = Requantize(dtype=dtype)
    if context.input(0).dtype is DType.FLOAT32:
        attrs = Quantize(dtype=dtype)
    return Imported(attrs, context.operation.inputs)


RULES: dict[str, Rule] = {
    "ADD": _fused(Add, tflite.BuiltinOptions.AddOptions, tflite.AddOptions),
    "DEQUANTIZE": _plain(Dequantize(), 1),
    "HARD_SWISH": _plain(HardSwish(), 1),
    "LEAKY_RELU": _leaky_relu,
    "LOGISTIC": _plain(Logistic(), 1),
    "MAXIMUM": _plain(Maximum(), 2),
    "MINIMUM": _plain(Minimum(), 2),
    "MUL": _fused(Mul, tflite.BuiltinOptions.MulOptions, tflite.MulOptions),
    "PRELU": _plain(Prelu(), 2),
    "QUANTIZE": _quantize,
    "RELU": _plain(Relu(), 1),
    "RELU6": _plain(Relu(Activation.RELU6), 1),
    "RELU_0_TO_1": _plain(Relu(Activation.RELU_0_TO_1), 1),
    "RELU_N1_TO_1": _plain(Relu(Activation.RELU_N1_TO_1), 1),
    "SUB": _fused(Sub, tflite.BuiltinOptions.SubOptions, tflite.SubOptions),
    "TANH": _plain(Tanh(), 1),
}
