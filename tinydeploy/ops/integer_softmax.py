"""Softmax of steps to steps of any scale, rounded once: exponentials from tables, one reciprocal per row."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import Int64, quantize_multiplier, shift_half_even
from tinydeploy.ir import Array
from tinydeploy.ops.base import AnySite
from tinydeploy.ops.quantized import quant_of

EXP_BITS = 30
"""Fractional bits of an exponential."""

PART_BITS = 31
"""Fractional bits of an exponential's part of the sum."""


@dataclass(frozen=True, slots=True)
class Steps:
    """From a part of the sum to output steps: ``part * multiplier / 2**exponent``."""

    multiplier: int
    exponent: int


def exponentials_of(site: AnySite, unit: int = 1) -> Int64:
    """``exp`` of distances below the row's maximum, from 0 to 255 times ``unit`` steps."""
    scale = getattr(site.attrs, "beta", 1.0) * quant_of(site.input(0)).scale * unit
    return np.array([round(math.ldexp(math.exp(-scale * step), EXP_BITS)) for step in range(256)], np.int64)


def is_wide(site: AnySite) -> bool:
    """Whether steps are 16 bits wide: then an exponential is the product of those of two bytes."""
    return site.input(0).dtype.bits == 16


def _exponential(site: AnySite, distance: Int64) -> Int64:
    fine = exponentials_of(site)
    if not is_wide(site):
        return np.asarray(fine[distance], np.int64)
    product = exponentials_of(site, 256)[distance >> 8] * fine[distance & 255]
    return np.asarray(product >> EXP_BITS, np.int64)


def steps_of(site: AnySite) -> Steps:
    multiplier, shift = quantize_multiplier(1.0 / quant_of(site.outputs[0]).scale)
    return Steps(multiplier >> max(0, -shift), PART_BITS + 31 - max(0, shift))


def softmax_once(site: AnySite, data: Array) -> Array:
    """The exact meaning of the kernel; a step away from the real result at most."""
    known = steps_of(site)
    wide = data.astype(np.int64)
    exp = _exponential(site, wide.max(axis=-1, keepdims=True) - wide)
    top, bits = _top(exp.sum(axis=-1, keepdims=True))
    inverse = (1 << 62) // top
    part = (exp * inverse) >> (bits - 1)
    steps = shift_half_even(part * known.multiplier, known.exponent) + quant_of(site.outputs[0]).zero_point
    return np.clip(steps, *site.outputs[0].dtype.limits).astype(site.outputs[0].dtype.numpy)


LOG_BITS = 24
"""Fractional bits of a logarithm to base 2."""


@dataclass(frozen=True, slots=True)
class LogFactors:
    """Output steps, times ``2**exponent``, of one input step and of one unit of the logarithm."""

    step: int
    unit: int
    exponent: int


def log_factors(site: AnySite) -> LogFactors:
    target = quant_of(site.outputs[0]).scale
    reals = quant_of(site.input(0)).scale / target, math.ldexp(math.log(2.0), -LOG_BITS) / target
    exponent = max(1, min(62, *(31 - math.frexp(real)[1] for real in reals)))
    limit = (1 << 31) - 1
    step, unit = (min(round(math.ldexp(real, exponent)), limit) for real in reals)
    return LogFactors(step, unit, exponent)


def log_softmax_once(site: AnySite, data: Array) -> Array:
    """``x - log(sum(exp(x)))`` of steps: the exact meaning of the kernel."""
    known, output = log_factors(site), site.outputs[0]
    wide = data.astype(np.int64)
    distance = wide.max(axis=-1, keepdims=True) - wide
    top, bits = _top(_exponential(site, distance).sum(axis=-1, keepdims=True))
    mantissa, fraction = top.astype(np.uint64), np.zeros(top.shape, np.int64)
    for _ in range(LOG_BITS):
        square = (mantissa * mantissa) >> np.uint64(31)
        above = square >> np.uint64(32)
        mantissa = square >> above
        fraction = (fraction << 1) + above.astype(np.int64)
    logarithm = ((bits - 31) << LOG_BITS) + fraction
    total = distance * known.step + logarithm * known.unit
    steps = quant_of(output).zero_point - shift_half_even(total, known.exponent)
    return np.clip(steps, *output.dtype.limits).astype(output.dtype.numpy)


def _top(totals: Int64) -> tuple[Int64, Int64]:
    """The upper 32 bits of sums of 31 bits or more, and how many bits the sums have."""
    bits = _bit_length(totals)
    raised = np.where(bits < 32, totals << np.maximum(32 - bits, 0), totals >> np.maximum(bits - 32, 0))
    return raised, bits


def _bit_length(values: Int64) -> Int64:
    lengths = [int(value).bit_length() for value in values.reshape(-1)]
    return np.array(lengths, np.int64).reshape(values.shape)
