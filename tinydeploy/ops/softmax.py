"""Softmax over the last axis, in TFLite's fixed point."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import (
    Int64,
    doubling_high_mul,
    exp_on_negative_values,
    multiply_by_quantized_multiplier,
    one_over_one_plus_x,
    quantize_multiplier,
    rounding_shift_right,
)
from tinydeploy.ir import Array, Attrs, Quant, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs
from tinydeploy.ops.quantized import int8_activations, quant_of

DIFF_INTEGER_BITS = 5
SUM_INTEGER_BITS = 12


@dataclass(frozen=True, slots=True)
class Softmax(Attrs):
    """``exp(beta * x) / sum(exp(beta * x))`` over the last axis."""

    beta: float = 1.0


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


def _reference(site: Site[Softmax], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    data = arrays[0]
    if data is None:
        raise ValueError("Softmax needs data")
    table = exponentials(site)
    wide = data.astype(np.int64)
    distance = wide.max(axis=-1, keepdims=True) - wide
    exp = np.where(distance < len(table), table[np.minimum(distance, len(table) - 1)], 0)
    total = rounding_shift_right(exp, SUM_INTEGER_BITS).sum(axis=-1, keepdims=True)
    headroom = 31 - np.floor(np.log2(total)).astype(np.int64)
    scale = one_over_one_plus_x((total << headroom) - (1 << 31))
    steps = rounding_shift_right(doubling_high_mul(scale, exp), SUM_INTEGER_BITS - headroom + 31 - 8)
    steps = np.where(distance < len(table), steps, 0)
    return (np.clip(steps - 128, -128, 127).astype(np.int8),)


OP = Operator(
    attrs=Softmax,
    roles=("data",),
    doc="softmax over the last axis",
    infer=lambda site: (TensorType(site.input(0).dtype, site.input(0).shape),),
    reference=_reference,
    macs=no_macs,
    constraints=(
        int8_activations(0),
        Constraint(
            "the input has at least one dimension",
            lambda site: len(site.input(0).shape) > 0,
            lambda site: "a single number",
            "remove the operator: its result is a constant",
            gate=True,
        ),
        Constraint(
            "the output has scale 1/256 and zero point -128",
            lambda site: site.outputs[0].quant == Quant((1 / 256,), (-128,)),
            lambda site: str(site.outputs[0].quant),
            "convert the model again: the converter fixes this scale",
        ),
        Constraint(
            "beta times the input's scale is positive, and at least 2**-26",
            lambda site: _factor(site)[1] >= 1,
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
)
