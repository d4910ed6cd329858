"""Arithmetic of plain integers where numpy and C differ, or where one of them has no answer.

Everything wraps as two's complement does; the C twins are in ``runtime_c/include/td_numbers.h``.
"""

from __future__ import annotations

import numpy as np

from tinydeploy.ir import Array, DType


def truncated_quotient(a: Array, b: Array) -> Array:
    """``a / b`` cut towards zero; 0 where b is 0."""
    safe = np.where(b == 0, 1, b).astype(b.dtype)
    floored = np.floor_divide(a, safe)
    exact = floored * safe == a
    up = ~exact & ((a < 0) != (safe < 0))
    return np.where(b == 0, 0, (floored + up).astype(a.dtype)).astype(a.dtype)


def floored_modulo(a: Array, b: Array) -> Array:
    """The remainder with the sign of b; of integers, 0 where b is 0."""
    if a.dtype.kind == "f":
        return np.asarray(np.mod(a, b))
    safe = np.where(b == 0, 1, b).astype(b.dtype)
    return np.where(b == 0, 0, np.mod(a, safe)).astype(a.dtype)


def power(a: Array, b: Array) -> Array:
    """``a ** b`` in a's type; powers of integers are cut towards zero.

    Where b has a fraction they saturate, and what is whole but for a float's rounding counts as whole.
    """
    if a.dtype.kind == "f":
        return np.asarray(np.power(a, b.astype(np.float64)))
    a, b = np.broadcast_arrays(a, b)
    whole = b == np.trunc(b) if b.dtype.kind == "f" else np.ones(b.shape, np.bool_)
    inside = whole & (np.abs(b.astype(np.float64)) < 2.0**31)
    exponents = np.where(inside, b, 0).astype(np.int64)
    result = _whole_power(a.astype(np.int64), exponents)
    if b.dtype.kind != "f":
        return result.astype(a.dtype)
    real = np.power(a.astype(np.float64), b.astype(np.float64))
    real = np.where(np.abs(real - np.rint(real)) <= 1e-6 * np.abs(real), np.rint(real), real)
    return np.where(inside, result.astype(a.dtype), saturated(real, DType(a.dtype.name)))


def _whole_power(base: Array, exponent: Array) -> Array:
    """``base ** exponent`` modulo 2**64; 1 / base ** -exponent cut towards zero for negative exponents."""
    result = np.ones_like(base)
    factor, left = base, np.maximum(exponent, 0)
    while left.any():
        result = np.where(left & 1, result * factor, result)
        factor, left = factor * factor, left >> 1
    odd = np.where(exponent & 1, base, 1)
    return np.where(exponent >= 0, result, np.where(np.abs(base) == 1, odd, 0))


def shifted_left(a: Array, b: Array) -> Array:
    """``a << b``; 0 from the width of the type on."""
    bits = a.dtype.itemsize * 8
    inside = (b >= 0) & (b < bits)
    return np.where(inside, np.left_shift(a, np.where(inside, b, 0).astype(a.dtype)), 0).astype(a.dtype)


def shifted_right(a: Array, b: Array) -> Array:
    """``a >> b``, arithmetically where a is signed; all sign bits from the width of the type on."""
    bits = a.dtype.itemsize * 8
    inside = (b >= 0) & (b < bits)
    shifted = np.right_shift(a, np.where(inside, b, bits - 1).astype(a.dtype))
    return np.where(inside | (a < 0), shifted, 0)


def saturated(real: Array, dtype: DType) -> Array:
    """Floats cut towards zero and to the range of an integer type; NaN becomes 0."""
    low, high = dtype.limits
    whole = np.trunc(np.where(np.isnan(real), 0.0, real))
    inside = np.clip(whole, float(low), float(high))
    # float64 cannot hold the largest int64, so the upper end is set by comparison.
    small = np.where(whole >= float(high), 0.0, inside).astype(dtype.numpy)
    return np.where(whole >= float(high), np.asarray(high, dtype.numpy), small)
