"""DepthwiseConv2D: data NHWC, weights [1, K_h, K_w, C_in * multiplier], bias [C_in * multiplier]."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.fixed_point import Rounding
from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, is_plain, only
from tinydeploy.ops.convolution import (
    image_constraints,
    kernel_constraints,
    output_shape,
)
from tinydeploy.ops.dot import dot_constraints, dot_reference
from tinydeploy.ops.float_windows import float_constraints, float_dot
from tinydeploy.ops.quantized import Activation, is_quantized
from tinydeploy.ops.sums import depthwise_sums
from tinydeploy.ops.window import Pair


@dataclass(frozen=True, slots=True)
class DepthwiseConv2D(Attrs):
    """Output channel c reads input channel ``c // multiplier``; ``padding`` as in Conv2D."""

    stride: Pair = (1, 1)
    dilation: Pair = (1, 1)
    padding: tuple[Pair, Pair] = ((0, 0), (0, 0))
    activation: Activation = Activation.NONE
    rounding: Rounding = Rounding.TFLITE


def multiplier_of(site: Site[DepthwiseConv2D]) -> int:
    """Output channels per input channel."""
    return site.input(1).shape[3] // site.input(0).shape[3]


def _infer(site: Site[DepthwiseConv2D]) -> tuple[TensorType, ...]:
    return (TensorType(site.input(0).dtype, output_shape(site, site.input(1).shape[3])),)


def _reference(site: Site[DepthwiseConv2D], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    if is_plain(site):
        return (float_dot(site, arrays, depthwise_sums),)
    return (dot_reference(site, arrays, depthwise_sums),)


def _macs(site: Site[DepthwiseConv2D]) -> int:
    _, height, width, _ = site.input(1).shape
    return site.outputs[0].elements * height * width


OP = Operator(
    attrs=DepthwiseConv2D,
    roles=("data", "weights", "bias?"),
    doc="2-D convolution of each channel alone; any multiplier, kernel, stride, dilation and padding",
    infer=_infer,
    reference=_reference,
    macs=_macs,
    constraints=(
        *image_constraints(),
        *kernel_constraints(),
        Constraint(
            "the output channels are a multiple of the input channels",
            lambda site: site.input(1).shape[0] == 1 and site.input(1).shape[3] % site.input(0).shape[3] == 0,
            lambda site: f"{site.input(1).shape[3]} from {site.input(0).shape[3]}",
            "repair the model",
        ),
        *only(is_plain, *float_constraints(channel_axis=3)),
        *only(is_quantized, *dot_constraints(channel_axis=3)),
    ),
)
