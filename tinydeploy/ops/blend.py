"""Sums of scaled products of elements, rounded once: elementwise arithmetic on several scales."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import Int64, Rounding, shift_half_even
from tinydeploy.ir import Array, DType, TensorType
from tinydeploy.ops.base import AnyConstraint, AnySite, Constraint, operand
from tinydeploy.ops.quantized import Activation, activation_limits, describe, is_quantized, quant_of

STEPS = (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16, DType.INT32)
"""Element types of the operands."""

Reference = Callable[[AnySite, tuple[Array | None, ...]], tuple[Array, ...]]


@dataclass(frozen=True, slots=True)
class Term:
    """``multiplier`` times the elements of some operands, each minus its zero point.

    ``side``: 1 where only numbers above 0 of the first operand count, -1 where only those below do.
    """

    multiplier: int
    operands: tuple[int, ...]
    side: int = 0


@dataclass(frozen=True, slots=True)
class Blend:
    """``output_zero_point + round_half_even(sum of terms / 2**exponent)``, clamped to [``low``, ``high``].

    No part of the sum leaves 63 bits.
    """

    terms: tuple[Term, ...]
    zero_points: tuple[int, ...]
    exponent: int
    output_zero_point: int
    low: int
    high: int


BlendOf = Callable[[AnySite], Blend]


def blend(
    site: AnySite, products: Sequence[tuple[float, tuple[int, ...]]], sides: Sequence[int] = ()
) -> Blend:
    """The sum of products of real operands, each with a real factor, in steps of the output."""
    output = site.outputs[0]
    count = 1 + max(index for _, operands in products for index in operands)
    inputs = [site.input(index) for index in range(count)]
    target = quant_of(output)
    reals, bits = [], []
    for factor, operands in products:
        reals.append(factor * math.prod(quant_of(inputs[index]).scale for index in operands) / target.scale)
        bits.append(sum(_peak(site, index).bit_length() for index in operands))
    exponent = _exponent(reals, 61 - max(bits) - (len(reals) - 1).bit_length())
    largest = (1 << 31) - 1
    terms = [
        Term(max(-largest, min(round(math.ldexp(real, exponent)), largest)), operands, side)
        for real, (_, operands), side in zip(reals, products, sides or (0,) * len(reals), strict=True)
    ]
    low, high = activation_limits(getattr(site.attrs, "activation", Activation.NONE), output)
    zero_points = tuple(quant_of(type_).zero_point for type_ in inputs)
    return Blend(tuple(terms), zero_points, exponent, target.zero_point, low, high)


def _exponent(reals: Sequence[float], most_bits: int) -> int:
    """The largest for which every factor has at most 31, or ``most_bits``, bits; at least 1, at most 62.

    Factors that need less than 1 are so large that any step saturates.
    """
    _, above = math.frexp(max(map(abs, reals)))
    return max(1, min(min(31, most_bits) - above, 62))


def _peak(site: AnySite, index: int) -> int:
    """The largest distance of an operand's step from its zero point."""
    type_ = site.input(index)
    zero_point = quant_of(type_).zero_point
    data = site.constant(index)
    low, high = type_.dtype.limits if data is None else (int(data.min()), int(data.max()))
    return max(abs(low - zero_point), abs(high - zero_point), 1)


def evaluate(blend_: Blend, operands: Sequence[Array]) -> Int64:
    """The value of a blend over arrays that broadcast."""
    centred = [
        data.astype(np.int64) - zero_point
        for data, zero_point in zip(operands, blend_.zero_points, strict=True)
    ]
    total: Int64 = np.zeros((), np.int64)
    for term in blend_.terms:
        product: Int64 = np.asarray(term.multiplier, np.int64)
        for place, index in enumerate(term.operands):
            factor = centred[index]
            if term.side and place == 0:
                factor = np.maximum(factor, 0) if term.side > 0 else np.minimum(factor, 0)
            product = product * factor
        total = total + product
    steps = shift_half_even(total, blend_.exponent) + blend_.output_zero_point
    return np.asarray(np.clip(steps, blend_.low, blend_.high), np.int64)


def blend_reference(blend_of: BlendOf) -> Reference:
    """The reference that evaluates an operator's blend."""

    def reference(site: AnySite, arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
        output = site.outputs[0]
        known = blend_of(site)
        data = [operand(arrays, index) for index in range(len(known.zero_points))]
        steps = evaluate(known, data)
        return (np.broadcast_to(steps, output.shape).astype(output.dtype.numpy),)

    return reference


def is_once(site: AnySite) -> bool:
    """Whether a node is quantized and rounds once, ties to even."""
    rounding = getattr(site.attrs, "rounding", Rounding.TFLITE)
    return is_quantized(site) and rounding is Rounding.HALF_EVEN


def is_twice(site: AnySite) -> bool:
    """Whether a node is quantized and computes as TFLite does."""
    return is_quantized(site) and not is_once(site)


def by_rounding(twice: Reference, once: Reference) -> Reference:
    """The reference of an operator that has both roundings."""

    def reference(site: AnySite, arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
        return (once if is_once(site) else twice)(site, arrays)

    return reference


def blend_constraint(*inputs: int) -> AnyConstraint:
    """What a node that rounds once takes and makes."""

    def fits(type_: TensorType) -> bool:
        return type_.dtype in STEPS and type_.quant is not None and type_.quant.per_tensor

    def types(site: AnySite) -> list[TensorType]:
        return [*(site.input(index) for index in inputs), *site.outputs]

    return Constraint(
        "operands are steps of 8, 16 or 32 bits with one scale each, the output of 8 or 16",
        lambda site: all(map(fits, types(site))) and site.outputs[0].dtype is not DType.INT32,
        lambda site: ", ".join(map(describe, types(site))),
        "quantize each tensor with one scale",
        gate=True,
    )
