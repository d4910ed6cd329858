"""Softmax over the last axis, in TFLite's fixed point."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import (
    Int64,
    Rounding,
    doubling_high_mul,
    exp_on_negative_values,
    multiply_by_quantized_multiplier,
    one_over_one_plus_x,
    quantize_multiplier,
    rounding_shift_right,
)
from tinydeploy.ir import Array, Attrs, DType, Quant, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, is_plain, no_macs, only, operand
from tinydeploy.ops.blend import is_once, is_twice
from tinydeploy.ops.float_windows import float_types
from tinydeploy.ops.integer_softmax import softmax_once
from tinydeploy.ops.quantized import activations, describe, is_activation, quant_of
from tinydeploy.ops.wide_tables import wide_softmax

DIFF_INTEGER_BITS = 5
SUM_INTEGER_BITS = 12


@dataclass(frozen=True, slots=True)
class Softmax(Attrs):
    """``exp(beta * x) / sum(exp(beta * x))`` over the last axis. ``wide``: int8 data have an int16 result."""

    beta: float = 1.0
    rounding: Rounding = Rounding.TFLITE
    wide: bool = False


def _infer(site: Site[Softmax]) -> tuple[TensorType, ...]:
    return (TensorType(DType.INT16 if site.attrs.wide else site.input(0).dtype, site.input(0).shape),)


def wide_factor(site: Site[Softmax]) -> tuple[int, int]:
    """(multiplier, shift) from int16 steps to units of 10 / 65535."""
    return quantize_multiplier(
        min(site.attrs.beta * quant_of(site.input(0)).scale / (10.0 / 65535.0), 2.0**30)
    )


def _factor(site: Site[Softmax]) -> tuple[int, int]:
    real = site.attrs.beta * quant_of(site.input(0)).scale * (1 << (31 - DIFF_INTEGER_BITS))
    return quantize_multiplier(min(real, (1 << 31) - 1.0))


def exponentials(site: Site[Softmax]) -> Int64:
    """``exp`` of every distance below the row's maximum in steps, Q0.31, from distance 0 on.

    Distances beyond the end count as 0: TFLite cuts them off.
    """
    multiplier, shift = _factor(site)
    radius = math.floor(((1 << DIFF_INTEGER_BITS) - 1) * (1 << (31 - DIFF_INTEGER_BITS)) / (1 << shift))
    distance = np.arange(min(radius, 255) + 1, dtype=np.int64)
    return exp_on_negative_values(multiply_by_quantized_multiplier(-distance, multiplier, shift))


def _float_reference(site: Site[Softmax], arrays: tuple[Array | None, ...]) -> Array:
    data = operand(arrays, 0).astype(np.float64) * site.attrs.beta
    exp = np.exp(data - data.max(axis=-1, keepdims=True))
    result: Array = (exp / exp.sum(axis=-1, keepdims=True)).astype(np.float32)
    return result


def _reference(site: Site[Softmax], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    if is_plain(site):
        return (_float_reference(site, arrays),)
    if is_once(site):
        return (softmax_once(site, operand(arrays, 0)),)
    data = arrays[0]
    if data is None:
        raise ValueError("Softmax needs data")
    if data.dtype == np.int16:
        return (wide_softmax(data.astype(np.int64), *wide_factor(site)).astype(np.int16),)
    table = exponentials(site)
    wide = data.astype(np.int64)
    distance = wide.max(axis=-1, keepdims=True) - wide
    exp = np.where(distance < len(table), table[np.minimum(distance, len(table) - 1)], 0)
    total = rounding_shift_right(exp, SUM_INTEGER_BITS).sum(axis=-1, keepdims=True)
    headroom = 31 - np.floor(np.log2(total)).astype(np.int64)
    scale = one_over_one_plus_x((total << headroom) - (1 << 31))
    output = site.outputs[0].dtype
    shift = np.minimum(SUM_INTEGER_BITS - headroom + 31 - output.bits, 62)
    steps = rounding_shift_right(doubling_high_mul(scale, exp), shift)
    steps = np.where(distance < len(table), steps, 0)
    return (np.clip(steps + output.limits[0], *output.limits).astype(output.numpy),)


def _result_fits(site: Site[Softmax]) -> bool:
    output = site.outputs[0]
    if site.input(0).dtype is DType.INT16:
        return output.quant == Quant((1 / 32768,), (0,))
    zero_point = output.dtype.limits[0]
    return (
        output.quant is not None
        and output.quant.zero_points == (zero_point,)
        and (abs(output.quant.scale * (1 << output.dtype.bits) - 1) < 1e-4)
    )


def _data_fit(site: Site[Softmax]) -> bool:
    data, output = site.input(0), site.outputs[0]
    return (
        is_activation(data)
        and is_activation(output)
        and (output.dtype is (DType.INT16 if site.attrs.wide else data.dtype))
    )


OP = Operator(
    attrs=Softmax,
    roles=("data",),
    doc="softmax over the last axis",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        *only(is_once, activations(0)),
        *only(
            is_twice,
            Constraint(
                "data are int8 or int16, the result too; int8 data may have an int16 result",
                _data_fit,
                lambda site: f"{describe(site.input(0))}, {describe(site.outputs[0])}",
                "convert the model with full int8 quantization",
                gate=True,
            ),
        ),
        *only(is_plain, float_types()),
        Constraint(
            "the input has at least one dimension",
            lambda site: len(site.input(0).shape) > 0,
            lambda site: "a single number",
            "remove the operator: its result is a constant",
            gate=True,
        ),
        *only(
            is_twice,
            Constraint(
                "the output has scale 1/256 and zero point -128; as int16 1/65536 and -32768, 1/32768 and 0 "
                "where the data are int16",
                _result_fits,
                lambda site: str(site.outputs[0].quant),
                "convert the model again: the converter fixes this scale",
            ),
            Constraint(
                "beta times the input's scale is positive, and at least 2**-26",
                lambda site: site.input(0).dtype is DType.INT16 or _factor(site)[1] >= 1,
                lambda site: f"beta {site.attrs.beta:g}, scale {quant_of(site.input(0)).scale:g}",
                "remove beta, or calibrate the input's range",
            ),
            Constraint(
                "a row has at most 4,000 elements, so that the sum keeps its 12 integer bits",
                lambda site: site.input(0).shape[-1] <= 4000,
                lambda site: f"{site.input(0).shape[-1]}",
                "use softmax over fewer classes",
            ),
        ),
    ),
)
