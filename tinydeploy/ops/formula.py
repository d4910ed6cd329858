"""Integer formulas of elementwise operators: written once, for the reference and for the kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import Int64, multiply_by_quantized_multiplier
from tinydeploy.ir import Array


class Expr:
    """An int32 expression of the elements of the operands at one place."""

    __slots__ = ()

    def __add__(self, other: Expr) -> Expr:
        return Plus(self, other)

    def __sub__(self, other: Expr) -> Expr:
        return Minus(self, other)

    def __mul__(self, other: Expr) -> Expr:
        return Times(self, other)


@dataclass(frozen=True, slots=True)
class Element(Expr):
    """The element of operand ``operand``, widened."""

    operand: int


@dataclass(frozen=True, slots=True)
class Number(Expr):
    """A number that differs between equal instances; ``role`` is the name of the kernel's argument."""

    role: str
    value: int


@dataclass(frozen=True, slots=True)
class Name(Expr):
    """The value of an earlier definition of the formula."""

    name: str


@dataclass(frozen=True, slots=True)
class Plus(Expr):
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Minus(Expr):
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Times(Expr):
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Raised(Expr):
    """``value * 2**bits``."""

    value: Expr
    bits: int


@dataclass(frozen=True, slots=True)
class Scaled(Expr):
    """TFLite's MultiplyByQuantizedMultiplier, rounded twice."""

    value: Expr
    multiplier: Number
    shift: Number


@dataclass(frozen=True, slots=True)
class Chosen(Expr):
    """``positive`` where ``value >= 0``, else ``negative``."""

    value: Expr
    positive: Expr
    negative: Expr


@dataclass(frozen=True, slots=True)
class Formula:
    """Definitions in order, then the result, clamped to [``low``, ``high``]. No part of it leaves 32 bits."""

    definitions: tuple[tuple[str, Expr], ...]
    result: Expr
    low: int
    high: int


def scaled(value: Expr, role: str, factor: tuple[int, int]) -> Scaled:
    """``value`` times a factor as ``quantize_multiplier`` gives it; ``role`` names its two numbers."""
    multiplier, shift = factor
    return Scaled(value, Number(f"{role}multiplier", multiplier), Number(f"{role}shift", shift))


def evaluate(formula: Formula, operands: Sequence[Array]) -> Int64:
    """The value of a formula over arrays that broadcast."""
    wide = [operand.astype(np.int64) for operand in operands]
    known: dict[str, Int64] = {}
    for name, definition in formula.definitions:
        known[name] = _value(definition, wide, known)
    return np.asarray(np.clip(_value(formula.result, wide, known), formula.low, formula.high), np.int64)


def _value(expr: Expr, operands: Sequence[Int64], known: dict[str, Int64]) -> Int64:
    def of(part: Expr) -> Int64:
        return _value(part, operands, known)

    match expr:
        case Element(operand):
            return operands[operand]
        case Number(_, value):
            return np.asarray(value, np.int64)
        case Name(name):
            return known[name]
        case Plus(left, right):
            return of(left) + of(right)
        case Minus(left, right):
            return of(left) - of(right)
        case Times(left, right):
            return of(left) * of(right)
        case Raised(value, bits):
            return of(value) << bits
        case Scaled(value, multiplier, shift):
            return multiply_by_quantized_multiplier(of(value), multiplier.value, shift.value)
        case Chosen(value, positive, negative):
            return np.asarray(np.where(of(value) >= 0, of(positive), of(negative)), np.int64)
    raise TypeError(f"{type(expr).__name__} is not an expression of formulas")
