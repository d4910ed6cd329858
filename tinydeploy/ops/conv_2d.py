"""Conv2D: data NHWC, weights [C_out, K_h, K_w, C_in], bias [C_out]."""

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
class Conv2D(Attrs):
    """``padding`` is ((top, bottom), (left, right)) in elements; pairs are (vertical, horizontal)."""

    stride: Pair = (1, 1)
    dilation: Pair = (1, 1)
    padding: tuple[Pair, Pair] = ((0, 0), (0, 0))
    activation: Activation = Activation.NONE
    rounding: Rounding = Rounding.TFLITE


def _infer(site: Site[Conv2D]) -> tuple[TensorType, ...]:
    return (TensorType(site.input(0).dtype, output_shape(site, site.input(1).shape[0])),)


def _reference(site: Site[Conv2D], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    if is_plain(site):
        return (float_dot(site, arrays, conv_sums),)
    return (dot_reference(site, arrays, conv_sums),)


def _macs(site: Site[Conv2D]) -> int:
    return site.outputs[0].elements * math.prod(site.input(1).shape[1:])


OP = Operator(
    attrs=Conv2D,
    roles=("data", "weights", "bias?"),
    doc="2-D convolution with any kernel, stride, dilation and padding",
    infer=_infer,
    reference=_reference,
    macs=_macs,
    constraints=(
        *image_constraints(),
        *kernel_constraints(),
        Constraint(
            "the weights have as many input channels as the data (no groups)",
            lambda site: site.input(0).shape[-1] == site.input(1).shape[-1],
            lambda site: f"{site.input(1).shape[-1]} of {site.input(0).shape[-1]}",
            "replace the grouped convolution by one convolution per group",
        ),
        *only(is_plain, *float_constraints(channel_axis=0)),
        *only(is_quantized, *dot_constraints(channel_axis=0)),
    ),
)
