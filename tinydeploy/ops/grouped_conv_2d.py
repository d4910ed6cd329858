"""GroupedConv2D: Conv2D in groups of channels that do not mix; weights [C_out, K_h, K_w, C_in / groups]."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import Rounding
from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, operand
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
class GroupedConv2D(Attrs):
    """As Conv2D; the shapes of data and weights tell the number of groups."""

    stride: Pair = (1, 1)
    dilation: Pair = (1, 1)
    padding: tuple[Pair, Pair] = ((0, 0), (0, 0))
    activation: Activation = Activation.NONE
    rounding: Rounding = Rounding.TFLITE


def groups_of(site: Site[GroupedConv2D]) -> int:
    return site.input(0).shape[3] // site.input(1).shape[3]


def _infer(site: Site[GroupedConv2D]) -> tuple[TensorType, ...]:
    return (TensorType(site.input(0).dtype, output_shape(site, site.input(1).shape[0])),)


def _reference(site: Site[GroupedConv2D], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    weights = operand(arrays, 1).astype(np.float64)
    vertical, horizontal = windows(site)
    zero_point = quant_of(site.input(0)).zero_point
    image = padded(operand(arrays, 0), *site.attrs.padding, zero_point).astype(np.float64) - zero_point
    groups, depth = groups_of(site), site.input(1).shape[3]
    _, height, width, channels = site.outputs[0].shape
    each = channels // groups
    # Sums of int8 products stay far below 2**53, so float64 matrix products are exact.
    total = np.zeros((1, height, width, channels), np.float64)
    for row in range(vertical.size):
        for column in range(horizontal.size):
            pixels = tap(image, vertical, horizontal, row, column, (height, width))
            for group in range(groups):
                part = slice(group * each, (group + 1) * each)
                data = pixels[..., group * depth : (group + 1) * depth]
                total[..., part] += data @ weights[part, row, column].T
    return (requantized(site, total.astype(np.int64), site.attrs.activation, site.attrs.rounding),)


def _macs(site: Site[GroupedConv2D]) -> int:
    return site.outputs[0].elements * math.prod(site.input(1).shape[1:])


def _groups_fit(site: Site[GroupedConv2D]) -> bool:
    channels, weights = site.input(0).shape[3], site.input(1).shape
    return channels % weights[3] == 0 and weights[0] % (channels // weights[3]) == 0


OP = Operator(
    attrs=GroupedConv2D,
    roles=("data", "weights", "bias?"),
    doc="2-D convolution in groups of channels; any kernel, stride, dilation and padding",
    infer=_infer,
    reference=_reference,
    macs=_macs,
    constraints=(
        *image_constraints(),
        *kernel_constraints(),
        Constraint(
            "input and output channels are whole groups",
            _groups_fit,
            lambda site: (
                f"{site.input(1).shape[0]} from {site.input(0).shape[3]} by {site.input(1).shape[3]}"
            ),
            "repair the model",
            gate=True,
        ),
        *dot_constraints(channel_axis=0),
    ),
)
