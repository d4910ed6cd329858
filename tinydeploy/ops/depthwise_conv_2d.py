"""DepthwiseConv2D: data NHWC, weights [1, K_h, K_w, C_in * multiplier], bias [C_in * multiplier]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import Rounding
from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site
from tinydeploy.ops.convolution import (
    dot_constraints,
    image_constraints,
    kernel_constraints,
    output_shape,
    requantized,
    windows,
)
from tinydeploy.ops.quantized import Activation, quant_of
from tinydeploy.ops.window import Pair, padded, tap


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
    data, weights = arrays[0], arrays[1]
    if data is None or weights is None:
        raise ValueError("DepthwiseConv2D needs data and weights")
    vertical, horizontal = windows(site)
    zero_point = quant_of(site.input(0)).zero_point
    image = padded(data, *site.attrs.padding, zero_point).astype(np.int64) - zero_point
    image = np.repeat(image, multiplier_of(site), axis=3)
    shape = site.outputs[0].shape
    total = np.zeros(shape, np.int64)
    for row in range(vertical.size):
        for column in range(horizontal.size):
            pixels = tap(image, vertical, horizontal, row, column, (shape[1], shape[2]))
            total += pixels * weights[0, row, column].astype(np.int64)
    return (requantized(site, total, site.attrs.activation, site.attrs.rounding),)


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
        *dot_constraints(channel_axis=3),
    ),
)
