"""Geometry, limits and arithmetic that Conv2D and DepthwiseConv2D share."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from tinydeploy.fixed_point import INT32_MAX, Int64, Rounding, requantize
from tinydeploy.ir import Array, DType
from tinydeploy.ops.base import AnyConstraint, AnySite, Constraint
from tinydeploy.ops.quantized import (
    Activation,
    accumulator_factors,
    accumulator_peak,
    activation_limits,
    describe,
    int8_activations,
    is_int8,
    quant_of,
)
from tinydeploy.ops.window import Pair, Window

MAX_BORDER = 1 << 20
"""Elements that padding may add to an image; far above any real model, it keeps references affordable."""


class WindowAttrs(Protocol):
    """The attributes that any convolution has; padding is ((top, bottom), (left, right))."""

    @property
    def stride(self) -> Pair: ...
    @property
    def dilation(self) -> Pair: ...
    @property
    def padding(self) -> tuple[Pair, Pair]: ...
    @property
    def activation(self) -> Activation: ...
    @property
    def rounding(self) -> Rounding: ...


def windows(site: AnySite) -> tuple[Window, Window]:
    """The vertical and the horizontal window; weights are [_, K_h, K_w, _]."""
    attrs: WindowAttrs = site.attrs
    _, height, width, _ = site.input(1).shape
    (top, bottom), (left, right) = attrs.padding
    return (
        Window(height, attrs.stride[0], attrs.dilation[0], top, bottom),
        Window(width, attrs.stride[1], attrs.dilation[1], left, right),
    )


def output_shape(site: AnySite, channels: int) -> tuple[int, ...]:
    vertical, horizontal = windows(site)
    batch, height, width, _ = site.input(0).shape
    return batch, vertical.outputs(height), horizontal.outputs(width), channels


def requantized(site: AnySite, accumulators: Array, activation: Activation, rounding: Rounding) -> Array:
    """int8 outputs of a dot-product operator with inputs (data, weights, bias)."""
    output = site.outputs[0]
    bias = site.constant(2)
    total: Int64 = np.asarray(accumulators, np.int64)
    if bias is not None:
        total = total + bias.astype(np.int64)
    multiplier, shift = accumulator_factors(site.input(0), site.input(1), output)
    low, high = activation_limits(activation, output)
    steps = requantize(total, multiplier, shift, rounding) + quant_of(output).zero_point
    return np.clip(steps, low, high).astype(output.dtype.numpy)


def dot_constraints(channel_axis: int) -> tuple[AnyConstraint, ...]:
    """Limits of the int8 operators that sum products; ``channel_axis`` is that of the weights."""

    def weights_fit(site: AnySite) -> bool:
        weights = site.input(1)
        return (
            weights.dtype is DType.INT8
            and site.constant(1) is not None
            and weights.quant is not None
            and weights.quant.axis in (None, channel_axis)
            and not any(weights.quant.zero_points)
        )

    def weights_got(site: AnySite) -> str:
        weights = site.input(1)
        faults = "" if site.constant(1) is not None else ", not constant"
        if weights.quant is not None and any(weights.quant.zero_points):
            faults += ", with zero points that are not 0"
        return describe(weights) + faults

    def bias_fits(site: AnySite) -> bool:
        channels = site.input(1).shape[channel_axis]
        if not site.has(2):
            return True
        bias = site.input(2)
        return bias.dtype is DType.INT32 and bias.elements == channels and site.constant(2) is not None

    def peak(site: AnySite) -> int:
        weights, input_quant = site.constant(1), site.input(0).quant
        if weights is None or input_quant is None:
            return 0
        return accumulator_peak(weights, channel_axis, site.constant(2), input_quant.zero_point)

    def scaled_sum_fits(site: AnySite) -> bool:
        if not (is_int8(site.input(0)) and is_int8(site.outputs[0])):
            return True
        _, shifts = accumulator_factors(site.input(0), site.input(1), site.outputs[0])
        left = max(0, int(shifts.max()))
        return left <= 30 and peak(site) << left <= INT32_MAX

    return (
        int8_activations(0, gate=False),
        Constraint(
            "weights are constant int8, symmetric, with one scale per tensor or per output channel",
            weights_fit,
            weights_got,
            "convert the model with full int8 quantization",
            gate=True,
        ),
        Constraint(
            "the bias is absent or a constant int32 per output channel",
            bias_fits,
            lambda site: describe(site.input(2)) if site.has(2) else "nothing",
            "convert the model with full int8 quantization",
            gate=True,
        ),
        Constraint(
            "no sum of products and bias can leave 32 bits",
            lambda site: peak(site) <= INT32_MAX,
            lambda site: f"a sum of up to {peak(site)}",
            "split the layer, or quantize its input more coarsely",
        ),
        Constraint(
            "the output's scale is not so small that a sum, brought to it, leaves 32 bits",
            scaled_sum_fits,
            lambda site: f"output scale {quant_of(site.outputs[0]).scale:g}",
            "calibrate the output's range on real data",
        ),
    )


def image_constraints() -> tuple[AnyConstraint, ...]:
    """Limits of operators with a padded window on NHWC images."""

    def border(site: AnySite) -> int:
        _, height, width, channels = site.input(0).shape
        (top, bottom), (left, right) = site.attrs.padding
        return int(((height + top + bottom) * (width + left + right) - height * width) * channels)

    return (
        Constraint(
            "the input is an image [1, H, W, C]",
            lambda site: len(site.input(0).shape) == 4 and site.input(0).shape[0] == 1,
            lambda site: str(list(site.input(0).shape)),
            "set the batch to 1 in the converter",
            gate=True,
        ),
        Constraint(
            f"padding adds at most {MAX_BORDER:,} elements to the image",
            lambda site: border(site) <= MAX_BORDER,
            lambda site: f"{border(site):,} elements, padding {site.attrs.padding}",
            "use a smaller window or dilation",
            gate=True,
        ),
    )


def kernel_constraints() -> tuple[AnyConstraint, ...]:
    """Limits of the weights' shape."""
    return (
        Constraint(
            "the weights have 4 dimensions",
            lambda site: len(site.input(1).shape) == 4,
            lambda site: str(list(site.input(1).shape)),
            "repair the model",
            gate=True,
        ),
    )
