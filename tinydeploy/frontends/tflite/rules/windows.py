"""Import rules of the operators with windows: convolutions and pooling."""

from __future__ import annotations

from typing import Any

import tflite

from tinydeploy.frontends.tflite.context import Context, Imported
from tinydeploy.frontends.tflite.rules.shared import Rule, activation, image, integers, padding, positive
from tinydeploy.ops.average_pool_2d import AveragePool2D
from tinydeploy.ops.conv_2d import Conv2D
from tinydeploy.ops.depthwise_conv_2d import DepthwiseConv2D
from tinydeploy.ops.grouped_conv_2d import GroupedConv2D
from tinydeploy.ops.max_pool_2d import MaxPool2D
from tinydeploy.ops.transpose_conv import TransposeConv
from tinydeploy.ops.window import same_padding


def _window(context: Context, options: Any) -> dict[str, Any]:
    """Stride, dilation, padding and activation of a convolution."""
    extents = image(context, context.input(0), "the data")
    size = image(context, context.input(1), "the weights")
    stride = positive(context, "stride", (options.StrideH(), options.StrideW()))
    dilation = positive(context, "dilation", (options.DilationHFactor(), options.DilationWFactor()))
    return {
        "stride": stride,
        "dilation": dilation,
        "padding": padding(context, options.Padding(), extents, size, stride, dilation),
        "activation": activation(context, options.FusedActivationFunction()),
    }


def _conv_2d(context: Context) -> Imported:
    context.operands(2, 3)
    options = context.required_options(tflite.BuiltinOptions.Conv2DOptions, tflite.Conv2DOptions)
    window = _window(context, options)
    channels, depth = context.input(0).shape[3], context.input(1).shape[3]
    if depth < channels and channels % depth == 0:
        return Imported(GroupedConv2D(**window), context.operation.inputs)
    return Imported(Conv2D(**window), context.operation.inputs)


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


def _pool(context: Context) -> dict[str, Any]:
    context.operands(1, 1)
    options = context.required_options(tflite.BuiltinOptions.Pool2DOptions, tflite.Pool2DOptions)
    extents = image(context, context.input(0), "the data")
    size = positive(context, "window", (options.FilterHeight(), options.FilterWidth()))
    stride = positive(context, "stride", (options.StrideH(), options.StrideW()))
    return {
        "size": size,
        "stride": stride,
        "padding": padding(context, options.Padding(), extents, size, stride, (1, 1)),
        "activation": activation(context, options.FusedActivationFunction()),
    }


def _average_pool_2d(context: Context) -> Imported:
    attrs = AveragePool2D(**_pool(context), ties_up=context.output.unsigned)
    return Imported(attrs, context.operation.inputs)


def _max_pool_2d(context: Context) -> Imported:
    return Imported(MaxPool2D(**_pool(context)), context.operation.inputs)


def _transpose_conv(context: Context) -> Imported:
    """TFLite's inputs: the output's shape, weights, data, bias."""
    context.operands(3, 4)
    options = context.required_options(
        tflite.BuiltinOptions.TransposeConvOptions, tflite.TransposeConvOptions
    )
    weights, data = context.operation.inputs[1:3]
    inputs = (data, weights, *context.operation.inputs[3:])
    # A shape that is computed has to be the one that the file gives the output.
    computed = context.input(0).data is None
    shape = context.output.shape if computed else integers(context, 0, "the output's shape is")
    image(context, context.input(2), "the data")
    taps = image(context, context.input(1), "the weights")
    stride = positive(context, "stride", (options.StrideH(), options.StrideW()))
    number = options.Padding()
    if number not in (tflite.Padding.SAME, tflite.Padding.VALID):
        raise context.fault(f"padding {number} is neither SAME (0) nor VALID (1)")
    if shape is None:
        return Imported(TransposeConv((1, 1)), inputs)
    if len(shape) != 4 or min(shape) < 1:
        raise context.fault(f"the output's shape is {list(shape)}; 4 extents from 1 on are needed")
    size = (shape[1], shape[2])
    before = (0, 0)
    if number == tflite.Padding.SAME:
        vertical, horizontal = (same_padding(*axis, 1)[0] for axis in zip(size, taps, stride, strict=True))
        before = (vertical, horizontal)
    attrs = TransposeConv(size, stride, before, activation(context, options.FusedActivationFunction()))
    return Imported(attrs, inputs)


RULES: dict[str, Rule] = {
    "AVERAGE_POOL_2D": _average_pool_2d,
    "CONV_2D": _conv_2d,
    "DEPTHWISE_CONV_2D": _depthwise_conv_2d,
    "MAX_POOL_2D": _max_pool_2d,
    "TRANSPOSE_CONV": _transpose_conv,
}
