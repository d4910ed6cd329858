"""Normalization of steps in integers: exact sums, an integer square root, one rounding at the end.

With x the steps minus their zero point, N their number and s their scale, the data minus its mean over its
deviation is ``D / sqrt(V + E)`` for ``D = N x - sum(x)``, ``V = N sum(x^2) - sum(x)^2`` and
``E = epsilon N^2 / s^2``: the scale is needed for E alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import Int64, shift_half_even
from tinydeploy.ir import Array, DType
from tinydeploy.ops.base import AnyConstraint, AnySite, Constraint
from tinydeploy.ops.quantized import describe, is_activation, quant_of

FRACTION_BITS = 20
"""Of the normalized data."""

MAX_ELEMENTS = {DType.INT8: 1 << 15, DType.INT16: 1 << 12}
"""That are normalized together: their sums stay in 63 bits."""


@dataclass(frozen=True, slots=True)
class Factors:
    """What is known at compile time.

    ``room`` bits, an even number, are put below V for ``epsilon`` = E. The normalized data times ``scale``
    plus ``bias``, over ``2**exponent``, are output steps; both are arrays that broadcast to the data, of 32
    and 64 bits.
    """

    room: int
    epsilon: int
    scale: Int64
    bias: Int64
    exponent: int


def elements_of(site: AnySite) -> int:
    """N: how many elements are normalized together."""
    return math.prod(site.input(0).shape[axis] for axis in site.attrs.axes)


def factors_of(site: AnySite) -> Factors:
    source, target = quant_of(site.input(0)), quant_of(site.outputs[0])
    count = elements_of(site)
    epsilon = float(np.float32(site.attrs.epsilon)) * (count / source.scale) ** 2
    largest = (count * ((1 << site.input(0).dtype.bits) - 1)) ** 2 + epsilon
    room = max(0, 61 - math.frexp(largest)[1]) & ~1
    scale = _real(site, 1, 1.0) / target.scale
    bias = _real(site, 2, 0.0) / target.scale
    fits_scale = 31 - math.frexp(float(np.abs(scale).max()))[1]
    fits_bias = 61 - FRACTION_BITS - math.frexp(float(np.abs(bias).max()))[1]
    bits = max(1 - FRACTION_BITS, min(fits_scale, fits_bias, 62 - FRACTION_BITS))
    limit = (1 << 31) - 1
    whole = np.clip(np.rint(np.ldexp(scale, bits)), -limit, limit).astype(np.int64)
    offset = np.rint(np.ldexp(bias, bits + FRACTION_BITS)).astype(np.int64)
    return Factors(room, round(math.ldexp(epsilon, room)), whole, offset, bits + FRACTION_BITS)


def _real(site: AnySite, index: int, absent: float) -> Array:
    """A constant operand, broadcast with the other one to the rank of the data."""
    shapes = [site.input(k).shape for k in (1, 2) if site.has(k)]
    shape = np.broadcast_shapes(*shapes, (1,) * len(site.input(0).shape))
    data = site.constant(index)
    if data is None:
        return np.full(shape, absent)
    numbers = data.astype(np.float64)
    if (quant := site.input(index).quant) is not None:
        numbers = (numbers - quant.zero_point) * quant.scale
    return np.broadcast_to(numbers, shape)


def normalized(site: AnySite, data: Array, *, centres: bool) -> Array:
    """The exact meaning of the kernel."""
    known, axes, count = factors_of(site), site.attrs.axes, elements_of(site)
    x = data.astype(np.int64) - quant_of(site.input(0)).zero_point
    squares = (x * x).sum(axis=axes, keepdims=True)
    total = x.sum(axis=axes, keepdims=True) if centres else np.zeros_like(squares)
    variance = count * squares - total * total
    distance = count * x - total
    inverse, drop = _inverse_root((variance << known.room) + known.epsilon, known.room)
    ratio = (distance * inverse) >> drop
    steps = shift_half_even(ratio * known.scale + known.bias, known.exponent)
    output = site.outputs[0]
    return np.clip(steps + quant_of(output).zero_point, *output.dtype.limits).astype(output.dtype.numpy)


def _inverse_root(values: Int64, room: int) -> tuple[Int64, Int64]:
    """1 / sqrt of each value, and the shift that leaves ``FRACTION_BITS`` of a product with it."""

    def one(value: int) -> tuple[int, int]:
        value = max(value, 1)
        raised = (62 - value.bit_length()) & ~1
        root = math.isqrt(value << raised)
        return (1 << 62) // (2 * root), max(0, 61 - FRACTION_BITS - (room + raised) // 2)

    pairs = [one(int(value)) for value in values.reshape(-1)]
    inverse = np.array([pair[0] for pair in pairs], np.int64).reshape(values.shape)
    return inverse, np.array([pair[1] for pair in pairs], np.int64).reshape(values.shape)


def normalization_constraints() -> tuple[AnyConstraint, ...]:
    """Limits where the data is quantized."""

    def constants(site: AnySite) -> bool:
        return all(not site.has(index) or site.constant(index) is not None for index in (1, 2))

    def epsilon_fits(site: AnySite) -> bool:
        ratio = elements_of(site) / quant_of(site.input(0)).scale
        return float(site.attrs.epsilon) * ratio * ratio < 2.0**60

    return (
        Constraint(
            "data and result are both int8 or int16, scale and bias constants, float32 or with one scale",
            lambda site: (
                is_activation(site.input(0))
                and is_activation(site.outputs[0])
                and site.input(0).dtype is site.outputs[0].dtype
                and constants(site)
                and all(
                    not site.has(index)
                    or site.input(index).dtype is DType.FLOAT32
                    or ((quant := site.input(index).quant) is not None and quant.per_tensor)
                    for index in (1, 2)
                )
            ),
            lambda site: ", ".join(map(describe, (*site.inputs, *site.outputs))),
            "leave this layer in float32",
            gate=True,
        ),
        Constraint(
            "at most 32,768 elements of int8 or 4,096 of int16 are normalized together",
            lambda site: elements_of(site) <= MAX_ELEMENTS[site.input(0).dtype],
            lambda site: f"{elements_of(site):,}",
            "leave this layer in float32",
            gate=True,
        ),
        Constraint(
            "epsilon is below 2**60 in squared steps times the squared number of elements",
            epsilon_fits,
            lambda site: f"epsilon {site.attrs.epsilon:g}, scale {quant_of(site.input(0)).scale:g}",
            "make epsilon smaller",
        ),
    )
