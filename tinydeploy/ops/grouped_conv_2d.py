"""GroupedConv2D: Conv2D in groups of channels that do not mix; weights [C_out, K_h, K_w, C_in / groups]."""

from __future__ import annotations

import math
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
from tinydeploy.ops.sums import conv_sums
from tinydeploy.ops.window import Pair


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
    if is_plain(site):
        return (float_dot(site, arrays, conv_sums),)
    return (dot_reference(site, arrays, conv_sums),)


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
        *only(is_plain, *float_constraints(channel_axis=0)),
        *only(is_quantized, *dot_constraints(channel_axis=0)),
    ),
)
