"""Conv2D: data NHWC, weights [C_out, K_h, K_w, C_in], bias [C_out]."""

from __future__ import annotations

import math
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
    data, weights = arrays[0], arrays[1]
    if data is None or weights is None:
        raise ValueError("Conv2D needs data and weights")
    vertical, horizontal = windows(site)
    zero_point = quant_of(site.input(0)).zero_point
    image = padded(data, *site.attrs.padding, zero_point).astype(np.float64) - zero_point
    _, height, width, channels = site.outputs[0].shape
    # Sums of int8 products stay far below 2**53, so float64 matrix products are exact.
    total = np.zeros((height * width, channels), np.float64)
    for row in range(vertical.size):
        for column in range(horizontal.size):
            pixels = tap(image, vertical, horizontal, row, column, (height, width))
            total += pixels.reshape(height * width, -1) @ weights[:, row, column, :].T.astype(np.float64)
    accumulators = total.astype(np.int64).reshape(1, height, width, channels)
    return (requantized(site, accumulators, site.attrs.activation, site.attrs.rounding),)


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
        *dot_constraints(channel_axis=0),
    ),
)
