"""TFLite's functions of int16 steps: tables with a line between two entries.

The sigmoid has 256 entries of 16 bits over [0, 10.7) with steps of 1/24; ``exp`` and ``1 / (1 + x)`` have 513
over all of int16, each lowered by half of the error in the middle of its line.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from tinydeploy.fixed_point import Int64, multiply_by_quantized_multiplier

INT16_MIN, INT16_MAX = -(1 << 15), (1 << 15) - 1
LINES = 512


@cache
def sigmoid_table() -> tuple[int, ...]:
    """``65536 / (1 + exp(-k / 24))``, each raised by half of the error in the middle of the line after it.

    The last one is the end of the range.
    """

    def exact(k: float) -> float:
        return 65536 / (1 + math.exp(-k / 24))

    def raised(k: int) -> int:
        error = exact(k + 0.5) - (exact(k) + exact(k + 1)) / 2
        return math.floor(exact(k) + error / 2 + 0.5)

    return (*map(raised, range(255)), 65535)


@dataclass(frozen=True, slots=True)
class Brought:
    """How steps reach the table: ``(step * multiplier + round) >> shift`` in units of 1 / (3 * 4096)."""

    multiplier: int
    shift: int


def brought(scale: float, shifts: tuple[int, ...]) -> Brought:
    """The factor of a scale; one that is 2**(shift - 12) for one of ``shifts`` needs no rounding."""
    log = math.log2(scale)
    shift = 12 + round(log)
    if abs(log - round(log)) < 1e-3 and shift in shifts:
        return Brought(3 << shift, 0)
    multiplier, right = scale * 4096.0 * 3.0, 0
    while multiplier <= 32767.0 / 2.0 and right <= 30:
        multiplier, right = multiplier * 2.0, right + 1
    return Brought(int(multiplier), right)


def _size(steps: Int64, factor: Brought, entry_bits: int) -> tuple[Int64, Int64, Int64]:
    """(brought steps, whole entries, rest) of the magnitude."""
    round_ = 1 << (factor.shift - 1) if factor.shift else 0
    data = (steps * factor.multiplier + round_) >> factor.shift
    size = np.abs(data)
    return data, size >> entry_bits, size & ((1 << entry_bits) - 1)


def _between(entry: Int64, rest: Int64, entry_bits: int) -> Int64:
    table = np.array(sigmoid_table(), np.int64)
    inside = np.minimum(entry, 254)
    low, high = table[inside], table[inside + 1]
    return np.asarray((low << entry_bits) + rest * (high - low), np.int64)


def wide_sigmoid(steps: Int64, factor: Brought) -> Int64:
    """Steps of 1 / 32768 of the sigmoid of int16 steps."""
    data, entry, rest = _size(steps, factor, 9)
    result = np.where(entry >= 255, 0x7FFF << 10, _between(entry, rest, 9))
    result = np.where(data >= 0, result + (1 << 9), (1 << 25) - result + (1 << 9) - 1)
    return np.asarray(result >> 10, np.int64)


def wide_tanh(steps: Int64, factor: Brought) -> Int64:
    """Steps of 1 / 32768 of the hyperbolic tangent of int16 steps."""
    data, entry, rest = _size(steps, factor, 8)
    result = np.where(entry >= 255, 0xFFFF << 8, _between(entry, rest, 8))
    half = 1 << 23
    result = np.where(data >= 0, result - half + (1 << 7), -result + half + (1 << 7) - 1)
    return np.asarray(result >> 8, np.int64)


def line_table(function: Callable[[float], float], low: float, high: float) -> tuple[int, ...]:
    """Values of ``function`` over [low, high] in steps of 1 / 32768, computed in float32 as TFLite does."""
    one = np.float32
    first, last = one(low), one(high)
    step = (last - first) / one(LINES)
    half = step / one(2)
    inverse = one(1 << 15)

    def of(x: np.float32) -> np.float32:
        return one(function(float(x)))

    entries: list[int] = []
    for k in range(LINES):
        at = of(first + one(k) * step)
        middle = of(first + one(k) * step + half)
        after = of(first + one(k + 1) * step)
        sample = _round(at * inverse)
        straight = _round((after * inverse + sample) / one(2))
        error = straight - _round(middle * inverse)
        entries.append(int(sample - _round(error / one(2))))
    entries.append(int(_round(of(last) * inverse)))
    return tuple(min(entry, INT16_MAX) for entry in entries)


def _round(value: np.float32) -> np.float32:
    """Ties away from zero."""
    return np.float32(math.copysign(math.floor(abs(float(value)) + 0.5), float(value)))


@cache
def exp_lines() -> tuple[int, ...]:
    """exp over [-10, 0]."""
    return line_table(math.exp, -10.0, 0.0)


@cache
def reciprocal_lines() -> tuple[int, ...]:
    """1 / (1 + x) over [0, 1]."""
    return line_table(lambda x: 1 / (1 + x), 0.0, 1.0)


def on_line(value: Int64, table: tuple[int, ...]) -> Int64:
    """The value of a table of lines at int16 values."""
    entries = np.array(table, np.int64)
    index = (value >> 7) + LINES // 2
    slope = entries[np.minimum(index + 1, LINES)] - entries[index]
    return np.asarray(entries[index] + ((slope * (value & 127) + 64) >> 7), np.int64)


def wide_softmax(data: Int64, multiplier: int, shift: int) -> Int64:
    """Steps of 1 / 32768 of the softmax of int16 steps over the last axis.

    The factor brings distances to units of 10 / 65535.
    """
    distance = data - data.max(axis=-1, keepdims=True)
    scaled = multiply_by_quantized_multiplier(distance, multiplier, shift)
    exp = on_line(np.clip(scaled + INT16_MAX, INT16_MIN, INT16_MAX), exp_lines())
    total = exp.sum(axis=-1, keepdims=True)
    headroom = 31 - np.floor(np.log2(total)).astype(np.int64)
    raised = ((total << (headroom - 1)) + (1 << 13)) >> 14
    centred = np.clip(raised - (1 << 16) - (1 << 15), INT16_MIN, INT16_MAX)
    scale = on_line(centred, reciprocal_lines())
    right = 31 - headroom
    steps = (exp * scale + (np.int64(1) << (right - 1))) >> right
    return np.asarray(np.clip(steps, 0, INT16_MAX), np.int64)
