"""Import rules of the operators on vectors and matrices."""

from __future__ import annotations

import math

import tflite

from tinydeploy.frontends.tflite.context import Context, Imported
from tinydeploy.frontends.tflite.rules.shared import Rule, activation
from tinydeploy.ir import DType
from tinydeploy.ops.batch_mat_mul import BatchMatMul
from tinydeploy.ops.fully_connected import FullyConnected
from tinydeploy.ops.softmax import Softmax


def _fully_connected(context: Context) -> Imported:
    options = context.options(tflite.BuiltinOptions.FullyConnectedOptions, tflite.FullyConnectedOptions)
    if options is None:
        context.operands(2, 3)
        return Imported(FullyConnected(), context.operation.inputs)
    if options.WeightsFormat() != tflite.FullyConnectedOptionsWeightsFormat.DEFAULT:
        context.refuse("shuffled weights are not supported", "convert the model again for a microcontroller")
        return Imported(FullyConnected(), context.operation.inputs)
    context.operands(2, 3)
    attrs = FullyConnected(
        activation=activation(context, options.FusedActivationFunction()),
        keep_dims=options.KeepNumDims(),
        asymmetric=bool(options.AsymmetricQuantizeInputs()),
    )
    return Imported(attrs, context.operation.inputs)


def _softmax(context: Context) -> Imported:
    context.operands(1, 1)
    options = context.required_options(tflite.BuiltinOptions.SoftmaxOptions, tflite.SoftmaxOptions)
    beta = options.Beta()
    if not (math.isfinite(beta) and beta > 0.0):
        raise context.fault(f"beta is {beta!r}; a positive number is needed")
    wide = context.input(0).dtype is DType.INT8 and context.output.dtype is DType.INT16
    return Imported(Softmax(beta=beta, wide=wide), context.operation.inputs)


def _batch_matmul(context: Context) -> Imported:
    context.operands(2, 2)
    options = context.options(tflite.BuiltinOptions.BatchMatMulOptions, tflite.BatchMatMulOptions)
    attrs = BatchMatMul() if options is None else BatchMatMul(options.AdjX(), options.AdjY())
    return Imported(attrs, context.operation.inputs)


RULES: dict[str, Rule] = {
    "BATCH_MATMUL": _batch_matmul,
    "FULLY_CONNECTED": _fully_connected,
    "SOFTMAX": _softmax,
}
