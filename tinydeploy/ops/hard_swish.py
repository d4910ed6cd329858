"""HardSwish: ``x * relu6(x + 3) / 6`` in TFLite's 16-bit fixed point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import INT32_MAX, Int64, quantize_multiplier, rounding_shift_right
from tinydeploy.ir import Array, Attrs
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, only
from tinydeploy.ops.plain import FLOATS, by_kind, plain_reference, plain_types, widened
from tinydeploy.ops.quantized import int8_activations, is_quantized, quant_of
from tinydeploy.ops.unary import reference_of, same_infer

INPUT_BITS = 7
"""Bits by which an input step is raised, to use the 16 bits."""


@dataclass(frozen=True, slots=True)
class HardSwish(Attrs):
    """Element by element."""


def _factors(site: Site[HardSwish]) -> tuple[tuple[int, int], tuple[int, int]]:
    """(16-bit multiplier, shift) to the output's scale, and to the scale on which 3.0 is 2**15."""
    scale = np.float32(quant_of(site.input(0)).scale) / np.float32(1 << INPUT_BITS)
    with np.errstate(over="ignore"):
        output = float(scale / np.float32(quant_of(site.outputs[0]).scale))
        gate = float(scale / (np.float32(3.0) / np.float32(32768.0)))
    return _narrow(min(output, 2.0**40)), _narrow(min(gate, 2.0**40))


def _narrow(real: float) -> tuple[int, int]:
    multiplier, shift = quantize_multiplier(real)
    half = 1 << 15
    return ((1 << 15) - 1 if multiplier >= INT32_MAX - half else (multiplier + half) >> 16), shift


def _high_mul(a: Int64, b: int) -> Int64:
    """Rounding doubling high product of 16-bit numbers, ties away from zero."""
    product = a * b
    nudged = product + np.where(product >= 0, 1 << 14, 1 - (1 << 14))
    return _toward_zero(nudged)


def _toward_zero(value: Int64) -> Int64:
    return np.asarray(np.sign(value) * (np.abs(value) >> 15), np.int64)


def _saturated(value: Int64) -> Int64:
    return np.asarray(np.clip(value, -(1 << 15), (1 << 15) - 1), np.int64)


def _steps(site: Site[HardSwish], centred: Int64) -> Int64:
    (multiplier, shift), (gate_multiplier, gate_shift) = _factors(site)
    raised = centred << INPUT_BITS
    identity = _high_mul(raised, multiplier)
    # The last bit of a left shift comes after the product, so that only it saturates.
    gate = _saturated(raised << (gate_shift - 1)) if gate_shift > 0 else raised
    gate = _high_mul(gate, gate_multiplier)
    if gate_shift > 0:
        gate = _saturated(gate << 1)
    elif gate_shift < 0:
        gate = rounding_shift_right(gate, -gate_shift)
    gate = (gate + (1 << 15)) >> 1
    return rounding_shift_right(_toward_zero(gate * identity), -shift) + quant_of(site.outputs[0]).zero_point


def _plain(_site: Site[HardSwish], data: tuple[Array, ...]) -> Array:
    x = widened(data[0])
    return np.asarray(x * np.clip(x / 6.0 + 0.5, 0.0, 1.0))


OP = Operator(
    attrs=HardSwish,
    roles=("data",),
    doc="x * relu6(x + 3) / 6",
    infer=same_infer,
    reference=by_kind(reference_of(_steps), plain_reference(_plain)),
    macs=no_macs,
    constraints=(
        *only(
            is_quantized,
            int8_activations(0),
            Constraint(
                "the output's scale is at least 1/128 of the input's, the input's at most 4096",
                lambda site: _factors(site)[0][1] <= 0 and _factors(site)[1][1] <= 20,
                lambda site: f"{quant_of(site.input(0)).scale:g} and {quant_of(site.outputs[0]).scale:g}",
                "calibrate both ranges on real data",
            ),
        ),
        *plain_types(FLOATS, 0),
    ),
)
