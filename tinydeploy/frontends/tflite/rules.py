"""How each TFLite operator becomes one of ours: one rule per operator and the table of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import tflite

from tinydeploy.frontends.tflite.context import Context, Imported
from tinydeploy.frontends.tflite.model import MAX_RANK, Tensor
from tinydeploy.ir import DType
from tinydeploy.ops.add import Add
from tinydeploy.ops.average_pool_2d import AveragePool2D
from tinydeploy.ops.conv_2d import Conv2D
from tinydeploy.ops.depthwise_conv_2d import DepthwiseConv2D
from tinydeploy.ops.fully_connected import FullyConnected
from tinydeploy.ops.quantized import Activation
from tinydeploy.ops.reshape import Reshape
from tinydeploy.ops.softmax import Softmax
from tinydeploy.ops.window import Pair, same_padding

Rule = Callable[[Context], Imported]

_ACTIVATIONS = {
    tflite.ActivationFunctionType.NONE: Activation.NONE,
    tflite.ActivationFunctionType.RELU: Activation.RELU,
    tflite.ActivationFunctionType.RELU_N1_TO_1: Activation.RELU_N1_TO_1,
    tflite.ActivationFunctionType.RELU6: Activation.RELU6,
}
_OTHER_ACTIVATIONS = {
    tflite.ActivationFunctionType.TANH: "TANH",
    tflite.ActivationFunctionType.SIGN_BIT: "SIGN_BIT",
}


def _activation(context: Context, number: int) -> Activation:
    if number in _OTHER_ACTIVATIONS:
        context.refuse(
            f"the fused activation {_OTHER_ACTIVATIONS[number]} is not supported",
            "use NONE, RELU, RELU6 or RELU_N1_TO_1",
        )
        return Activation.NONE
    if number not in _ACTIVATIONS:
        raise context.fault(f"fused activation {number} is not one of TFLite")
    return _ACTIVATIONS[number]


def _positive(context: Context, what: str, pair: Pair) -> Pair:
    if min(pair) < 1:
        raise context.fault(f"{what} {list(pair)}; at least 1 is needed")
    return pair


def _image(context: Context, tensor: Tensor, what: str) -> Pair:
    """Height and width of a tensor [_, H, W, _]."""
    if len(tensor.shape) != 4:
        raise context.fault(f"{what} have shape {list(tensor.shape)}; 4 dimensions are needed")
    return tensor.shape[1], tensor.shape[2]


def _padding(
    context: Context, number: int, image: Pair, size: Pair, stride: Pair, dilation: Pair
) -> tuple[Pair, Pair]:
    if number == tflite.Padding.VALID:
        return (0, 0), (0, 0)
    if number != tflite.Padding.SAME:
        raise context.fault(f"padding {number} is neither SAME (0) nor VALID (1)")
    vertical, horizontal = (same_padding(*axis) for axis in zip(image, size, stride, dilation, strict=True))
    return vertical, horizontal


def _window(context: Context, options: Any) -> dict[str, Any]:
    """Stride, dilation, padding and activation of a convolution."""
    image = _image(context, context.input(0), "the data")
    size = _image(context, context.input(1), "the weights")
    stride = _positive(context, "stride", (options.StrideH(), options.StrideW()))
    dilation = _positive(context, "dilation", (options.DilationHFactor(), options.DilationWFactor()))
    return {
        "stride": stride,
        "dilation": dilation,
        "padding": _padding(context, options.Padding(), image, size, stride, dilation),
        "activation": _activation(context, options.FusedActivationFunction()),
    }


def _conv_2d(context: Context) -> Imported:
    context.operands(2, 3)
    options = context.required_options(tflite.BuiltinOptions.Conv2DOptions, tflite.Conv2DOptions)
    return Imported(Conv2D(**_window(context, options)), context.operation.inputs)


def _depthwise_conv_2d(context: Context) -> Imported:
    context.operands(2, 3)
    options = context.required_options(
        tflite.BuiltinOptions.DepthwiseConv2DOptions, tflite.DepthwiseConv2DOptions
    )
    window = _window(context, options)
    multiplier = options.DepthMultiplier()
    channels, outputs = context.input(0).shape[3], context.input(1).shape[3]
    # The option is redundant; newer converters leave it 0.
    if multiplier not in (0, outputs / channels):
        raise context.fault(f"depth multiplier {multiplier}, but {outputs} channels from {channels}")
    return Imported(DepthwiseConv2D(**window), context.operation.inputs)


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
        activation=_activation(context, options.FusedActivationFunction()),
        keep_dims=options.KeepNumDims(),
    )
    return Imported(attrs, context.operation.inputs)


def _average_pool_2d(context: Context) -> Imported:
    context.operands(1, 1)
    options = context.required_options(tflite.BuiltinOptions.Pool2DOptions, tflite.Pool2DOptions)
    image = _image(context, context.input(0), "the data")
    size = _positive(context, "window", (options.FilterHeight(), options.FilterWidth()))
    stride = _positive(context, "stride", (options.StrideH(), options.StrideW()))
    attrs = AveragePool2D(
        size=size,
        stride=stride,
        padding=_padding(context, options.Padding(), image, size, stride, (1, 1)),
        activation=_activation(context, options.FusedActivationFunction()),
    )
    return Imported(attrs, context.operation.inputs)


def _add(context: Context) -> Imported:
    context.operands(2, 2)
    options = context.options(tflite.BuiltinOptions.AddOptions, tflite.AddOptions)
    number = tflite.ActivationFunctionType.NONE if options is None else options.FusedActivationFunction()
    return Imported(Add(activation=_activation(context, number)), context.operation.inputs)


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


def _softmax(context: Context) -> Imported:
    context.operands(1, 1)
    options = context.required_options(tflite.BuiltinOptions.SoftmaxOptions, tflite.SoftmaxOptions)
    beta = options.Beta()
    if not (math.isfinite(beta) and beta > 0.0):
        raise context.fault(f"beta is {beta!r}; a positive number is needed")
    return Imported(Softmax(beta=beta), context.operation.inputs)


RULES: dict[str, Rule] = {
    "ADD": _add,
    "AVERAGE_POOL_2D": _average_pool_2d,
    "CONV_2D": _conv_2d,
    "DEPTHWISE_CONV_2D": _depthwise_conv_2d,
    "FULLY_CONNECTED": _fully_connected,
    "RESHAPE": _reshape,
    "SOFTMAX": _softmax,
}
