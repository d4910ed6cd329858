"""Sums of products of integer steps: what convolutions and dense layers share of their quantized kind.

Data are int8 or int16, weights int8 or int4. Sums are 32 bits wide, or 64 for int16 data; TFLite scales the
wide ones with a multiplier of 15 bits instead of rounding twice.
"""

from __future__ import annotations

import numpy as np

from tinydeploy.fixed_point import INT32_MAX, Int64, Rounding, requantize
from tinydeploy.ir import Array, DType
from tinydeploy.ops.base import AnyConstraint, AnySite, Constraint, only, operand
from tinydeploy.ops.dot_weights import WEIGHTS, centred_weights
from tinydeploy.ops.hybrid import hybrid_constraints, hybrid_reference, is_hybrid, is_integer
from tinydeploy.ops.quantized import (
    WIDE_MAX,
    Activation,
    accumulator_factors,
    accumulator_peak,
    activation_limits,
    activations,
    describe,
    fits_wide,
    is_activation,
    partial_peak,
    quant_of,
)
from tinydeploy.ops.sums import SumsOf


def centred_data(site: AnySite, arrays: tuple[Array | None, ...]) -> Array:
    """Input 0 as float64 minus its zero point. Sums of its products are exact: they stay below 2**53."""
    return operand(arrays, 0).astype(np.float64) - quant_of(site.input(0)).zero_point


def dot_reference(site: AnySite, arrays: tuple[Array | None, ...], sums_of: SumsOf) -> Array:
    """The quantized or the hybrid kind of an operator with inputs (data, weights, bias)."""
    if is_hybrid(site):
        return hybrid_reference(site, arrays, sums_of)
    sums = sums_of(site, centred_data(site, arrays), centred_weights(site, operand(arrays, 1)))
    return requantized(site, sums, site.attrs.activation, site.attrs.rounding)


def is_wide(site: AnySite) -> bool:
    """Whether sums are 64 bits wide: int16 data, unless TFLite brings an int32 bias."""
    narrow = site.has(2) and site.input(2).dtype is DType.INT32 and site.attrs.rounding is Rounding.TFLITE
    return site.input(0).dtype is DType.INT16 and not narrow


def requantized(site: AnySite, sums: Array, activation: Activation, rounding: Rounding) -> Array:
    """Output steps of an operator with inputs (data, weights, bias)."""
    output = site.outputs[0]
    bias = site.constant(2)
    total: Int64 = sums.astype(np.int64)
    if bias is not None:
        total = total + bias.astype(np.int64).reshape(-1)
    multiplier, shift = accumulator_factors(site.input(0), site.input(1), output)
    low, high = activation_limits(activation, output)
    scaled = requantize(total, multiplier, shift, rounding, wide=is_wide(site))
    return np.clip(scaled + quant_of(output).zero_point, low, high).astype(output.dtype.numpy)


def peak_of(site: AnySite, channel_axis: int, *, partial: bool = False) -> int:
    """Largest magnitude that a partial sum of products and bias can reach; 0 where that is not known.

    ``partial``: any part of the products may be summed, so the zero point does not cancel between them.
    """
    weights = site.constant(1)
    if weights is None or site.input(1).quant is None or site.input(0).quant is None:
        return 0
    centred = centred_weights(site, weights).astype(np.int64)
    bits = site.input(0).dtype.bits
    if partial:
        return partial_peak(centred, channel_axis, site.constant(2), bits)
    return accumulator_peak(centred, channel_axis, site.constant(2), quant_of(site.input(0)).zero_point, bits)


def scaled_sum_fits(site: AnySite, peak: int) -> bool:
    """Whether sums up to ``peak``, brought to the output's scale, stay in 32 bits on the way there."""
    if not (is_activation(site.input(0)) and is_activation(site.outputs[0])):
        return True
    multipliers, shifts = accumulator_factors(site.input(0), site.input(1), site.outputs[0])
    left = max(0, int(shifts.max()))
    if not is_wide(site):
        return left <= 30 and peak << left <= INT32_MAX
    pairs = zip(multipliers.tolist(), shifts.tolist(), strict=True)
    return all(fits_wide(peak, multiplier, shift) for multiplier, shift in pairs)


def dot_constraints(channel_axis: int) -> tuple[AnyConstraint, ...]:
    """Limits of operators that sum products with integer weights; ``channel_axis`` is that of the weights."""
    return (
        *only(is_hybrid, *hybrid_constraints(channel_axis)),
        *only(is_integer, *_integer_constraints(channel_axis)),
    )


def _integer_constraints(channel_axis: int) -> tuple[AnyConstraint, ...]:

    def weights_fit(site: AnySite) -> bool:
        weights = site.input(1)
        return (
            weights.dtype in WEIGHTS
            and site.constant(1) is not None
            and weights.quant is not None
            and weights.quant.axis in (None, channel_axis)
        )

    def weights_got(site: AnySite) -> str:
        return describe(site.input(1)) + ("" if site.constant(1) is not None else ", not constant")

    def bias_fits(site: AnySite) -> bool:
        channels = site.input(1).shape[channel_axis]
        if not site.has(2):
            return True
        bias = site.input(2)
        types = (DType.INT32, DType.INT64) if site.input(0).dtype is DType.INT16 else (DType.INT32,)
        return bias.dtype in types and bias.elements == channels and site.constant(2) is not None

    def sums_fit(site: AnySite) -> bool:
        return peak_of(site, channel_axis) <= (WIDE_MAX if is_wide(site) else INT32_MAX)

    return (
        activations(0, gate=False),
        Constraint(
            "weights are constant int8 or int4, with one scale per tensor or per output channel",
            weights_fit,
            weights_got,
            "convert the model with full int8 quantization",
            gate=True,
        ),
        Constraint(
            "the bias is absent or a constant int32 per output channel, or int64 beside int16 data",
            bias_fits,
            lambda site: describe(site.input(2)) if site.has(2) else "nothing",
            "convert the model with full int8 quantization",
            gate=True,
        ),
        Constraint(
            "no sum of products and bias can leave 32 bits, or 48 where sums are 64 bits wide",
            sums_fit,
            lambda site: f"a sum of up to {peak_of(site, channel_axis)}",
            "split the layer, or quantize its input more coarsely",
        ),
        Constraint(
            "the output's scale is not so small that a sum, brought to it, leaves 32 bits",
            lambda site: scaled_sum_fits(site, peak_of(site, channel_axis)),
            lambda site: f"output scale {quant_of(site.outputs[0]).scale:g}",
            "calibrate the output's range on real data",
        ),
    )
