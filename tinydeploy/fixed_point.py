"""Integer arithmetic of quantized inference, bit for bit, on numpy arrays.

Two roundings exist. TFLite's doubles and rounds twice (gemmlowp's ``SaturatingRoundingDoublingHighMul``
followed by a rounding right shift, ties away from zero); ONNX models round once, ties to even. The C twins
of these functions are in ``runtime_c/include/td_fixed_point.h``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import Enum

import numpy as np
import numpy.typing as npt

Int64 = npt.NDArray[np.int64]

INT32_MIN = -(1 << 31)
INT32_MAX = (1 << 31) - 1


class Rounding(Enum):
    """How an accumulator becomes an output step."""

    TFLITE = "tflite_double_rounding"
    HALF_EVEN = "half_even_once"


def quantize_multiplier(real: float) -> tuple[int, int]:
    """``real`` as ``multiplier * 2**(shift - 31)`` with a multiplier of 31 bits.

    ``real`` must be finite and not negative. Values below 2**-32 become 0, as in TFLite's QuantizeMultiplier.
    """
    if real == 0.0:
        return 0, 0
    fraction, shift = math.frexp(real)
    multiplier = math.floor(fraction * (1 << 31) + 0.5)
    if multiplier == 1 << 31:
        multiplier //= 2
        shift += 1
    return (0, 0) if shift < -31 else (multiplier, shift)


def quantize_multipliers(reals: Sequence[float]) -> tuple[Int64, Int64]:
    """``quantize_multiplier`` of each; the result is (multipliers, shifts)."""
    pairs = [quantize_multiplier(real) for real in reals]
    return np.array([m for m, _ in pairs], np.int64), np.array([s for _, s in pairs], np.int64)


def wrap_int32(value: npt.ArrayLike) -> Int64:
    """The value that a 32-bit register holds after the exact result was stored to it."""
    narrow = np.asarray(value, np.int64).astype(np.int32)
    return np.asarray(narrow, np.int64)


def doubling_high_mul(a: npt.ArrayLike, b: npt.ArrayLike) -> Int64:
    """gemmlowp's SaturatingRoundingDoublingHighMul: ``round(a * b / 2**31)``, ties upwards, saturated."""
    product = np.asarray(a, np.int64) * np.asarray(b, np.int64)
    return np.asarray(np.minimum((product + (1 << 30)) >> 31, INT32_MAX), np.int64)


def rounding_shift_right(value: npt.ArrayLike, exponent: npt.ArrayLike) -> Int64:
    """gemmlowp's RoundingDivideByPOT: ``round(value / 2**exponent)``, ties away from zero."""
    wide = np.asarray(value, np.int64)
    shift = np.asarray(exponent, np.int64)
    mask = (np.int64(1) << shift) - 1
    threshold = (mask >> 1) + (wide < 0)
    return np.asarray((wide >> shift) + ((wide & mask) > threshold), np.int64)


def saturating_shift_left(value: npt.ArrayLike, exponent: int) -> Int64:
    """gemmlowp's SaturatingRoundingMultiplyByPOT for positive exponents, on 32 bits."""
    return np.asarray(np.clip(np.asarray(value, np.int64) << exponent, INT32_MIN, INT32_MAX), np.int64)


def multiply_by_quantized_multiplier(
    value: npt.ArrayLike, multiplier: npt.ArrayLike, shift: npt.ArrayLike
) -> Int64:
    """TFLite's MultiplyByQuantizedMultiplier with double rounding; ``shift`` > 0 shifts left first."""
    shifts = np.asarray(shift, np.int64)
    left = np.maximum(shifts, 0)
    right = np.maximum(-shifts, 0)
    shifted = wrap_int32(np.asarray(value, np.int64) << left)
    return rounding_shift_right(doubling_high_mul(shifted, multiplier), right)


def shift_half_even(value: npt.ArrayLike, exponent: npt.ArrayLike) -> Int64:
    """``round(value / 2**exponent)``, ties to even; exponent 1 to 62."""
    wide = np.asarray(value, np.int64)
    bits = np.asarray(exponent, np.int64)
    floor = wide >> bits
    rest = wide - (floor << bits)
    half = np.int64(1) << (bits - 1)
    return np.asarray(floor + ((rest > half) | ((rest == half) & ((floor & 1) == 1))), np.int64)


def multiply_half_even(value: npt.ArrayLike, multiplier: npt.ArrayLike, shift: npt.ArrayLike) -> Int64:
    """``round(value * multiplier * 2**(shift - 31))`` in 64 bits, once, ties to even."""
    product = np.asarray(value, np.int64) * np.asarray(multiplier, np.int64)
    return shift_half_even(product, 31 - np.asarray(shift, np.int64))


def multiply_wide(value: npt.ArrayLike, multiplier: npt.ArrayLike, shift: npt.ArrayLike) -> Int64:
    """TFLite's MultiplyByQuantizedMultiplier of 64-bit sums: a multiplier of 15 bits, rounded once.

    Ties go upwards; |value| < 2**47, shift from -31 to 7.
    """
    exponent = 15 - np.asarray(shift, np.int64)
    product = np.asarray(value, np.int64) * reduced_multiplier(multiplier)
    return np.asarray((product + (np.int64(1) << (exponent - 1))) >> exponent, np.int64)


def reduced_multiplier(multiplier: npt.ArrayLike) -> Int64:
    """The upper 15 bits of a multiplier of 31 bits, rounded, as TFLite uses them for 64-bit sums."""
    wide = np.asarray(multiplier, np.int64)
    return np.where(wide < 0x7FFF0000, (wide + (1 << 15)) >> 16, 0x7FFF)


def multiply_wide_half_even(value: npt.ArrayLike, multiplier: npt.ArrayLike, shift: npt.ArrayLike) -> Int64:
    """``multiply_half_even`` of sums up to 2**47, in two halves; shift from -31 to 7."""
    wide, factor = np.asarray(value, np.int64), np.asarray(multiplier, np.int64)
    low = (wide & 0xFFFF) * factor
    # The product is high * 2**16 + rest.
    high = (wide >> 16) * factor + (low >> 16)
    rest = low & 0xFFFF
    exponent = 15 - np.asarray(shift, np.int64)
    floor = high >> exponent
    over = high - (floor << exponent)
    half = np.int64(1) << (exponent - 1)
    up = (over > half) | ((over == half) & ((rest > 0) | ((floor & 1) == 1)))
    return np.asarray(floor + up, np.int64)


def requantize(
    value: npt.ArrayLike,
    multiplier: npt.ArrayLike,
    shift: npt.ArrayLike,
    rounding: Rounding,
    *,
    wide: bool = False,
) -> Int64:
    """An accumulator times a real factor, rounded as the model's source does; ``wide`` ones have 64 bits."""
    if rounding is Rounding.TFLITE:
        multiply = multiply_wide if wide else multiply_by_quantized_multiplier
        return multiply(value, multiplier, shift)
    return (multiply_wide_half_even if wide else multiply_half_even)(value, multiplier, shift)


def exp_on_negative_values(value: npt.ArrayLike, integer_bits: int = 5) -> Int64:
    """gemmlowp's exp for ``value <= 0`` with ``integer_bits`` integer bits; the result is Q0.31."""
    raw = np.asarray(value, np.int64)
    fractional_bits = 31 - integer_bits
    quarter = 1 << (fractional_bits - 2)
    in_quarter = (raw & (quarter - 1)) - quarter
    result = _exp_between_minus_quarter_and_zero(saturating_shift_left(in_quarter, integer_bits))
    remainder = in_quarter - raw
    for exponent, factor in _EXP_FACTORS:
        if integer_bits > exponent:
            bit = np.int64(1) << (fractional_bits + exponent)
            result = np.where(remainder & bit, doubling_high_mul(result, factor), result)
    return np.where(raw == 0, INT32_MAX, result)


# exp(-2**exponent) in Q0.31.
_EXP_FACTORS = (
    (-2, 1672461947),
    (-1, 1302514674),
    (0, 790015084),
    (1, 290630308),
    (2, 39332535),
    (3, 720401),
    (4, 242),
)


def _exp_between_minus_quarter_and_zero(value: Int64) -> Int64:
    exp_minus_eighth = 1895147668
    one_third = 715827883
    x = value + (1 << 28)
    x2 = doubling_high_mul(x, x)
    x3 = doubling_high_mul(x2, x)
    x4 = doubling_high_mul(x2, x2)
    tail = doubling_high_mul(rounding_shift_right(x4, 2) + x3, one_third) + x2
    return exp_minus_eighth + doubling_high_mul(exp_minus_eighth, x + rounding_shift_right(tail, 1))


def one_over_one_plus_x(value: npt.ArrayLike) -> Int64:
    """gemmlowp's ``1 / (1 + x)`` for x in [0, 1), argument and result in Q0.31."""
    return saturating_shift_left(_newton_reciprocal(value), 1)


def _newton_reciprocal(value: npt.ArrayLike) -> Int64:
    """``2 / (1 + x)`` in Q2.29, three Newton steps."""
    raw = np.asarray(value, np.int64)
    total = raw + INT32_MAX
    half_denominator = (total + 1) >> 1
    x = 1515870810 + doubling_high_mul(half_denominator, -1010580540)
    for _ in range(3):
        error = (1 << 29) - doubling_high_mul(half_denominator, x)
        x = x + saturating_shift_left(doubling_high_mul(x, error), 2)
    return x


def one_minus_over_one_plus(value: npt.ArrayLike) -> Int64:
    """gemmlowp's ``(1 - x) / (1 + x)`` for x in [0, 1), argument and result in Q0.31."""
    return saturating_shift_left(_newton_reciprocal(value) - (1 << 29), 2)


def logistic(value: npt.ArrayLike, integer_bits: int = 4) -> Int64:
    """gemmlowp's sigmoid; the argument has ``integer_bits`` integer bits, the result is Q0.31."""
    raw = np.asarray(value, np.int64)
    positive = one_over_one_plus_x(exp_on_negative_values(-np.abs(raw), integer_bits))
    return np.where(raw == 0, 1 << 30, np.where(raw > 0, positive, INT32_MAX - positive))


def tanh(value: npt.ArrayLike, integer_bits: int = 4) -> Int64:
    """gemmlowp's tanh; the argument has ``integer_bits`` integer bits, the result is Q0.31."""
    raw = np.asarray(value, np.int64)
    # The exponential of 2x: the same bits with one integer bit more.
    size = one_minus_over_one_plus(exp_on_negative_values(-np.abs(raw), integer_bits + 1))
    return np.where(raw == 0, 0, np.sign(raw) * size)
