"""Formulas as C: each definition a line, numbers as arguments of the kernel."""

from __future__ import annotations

from collections.abc import Iterator

from tinydeploy.kernels.base import Scalar
from tinydeploy.ops.formula import (
    Chosen,
    Element,
    Expr,
    Formula,
    Minus,
    Name,
    Number,
    Plus,
    Raised,
    Scaled,
    Times,
)

OPERANDS = ("a", "b")
"""What the elements are called in C."""


def c_text(expr: Expr) -> str:
    """An expression of int32_t."""
    match expr:
        case Element(operand):
            return OPERANDS[operand]
        case Number(role, _) | Name(role):
            return role
        case Plus(left, right):
            return f"{c_text(left)} + {c_text(right)}"
        case Minus(left, right):
            return f"{c_text(left)} - {_factor(right)}"
        case Times(left, right):
            return f"{_factor(left)} * {_factor(right)}"
        case Raised(value, bits):
            return f"td_shift_left({c_text(value)}, {bits})"
        case Scaled(value, multiplier, shift):
            function = "td_requantize_any" if shift.value > 0 else "td_requantize"
            return f"{function}({c_text(value)}, {multiplier.role}, {shift.role})"
        case Chosen(Minus(left, right), positive, negative):
            return f"({c_text(left)} >= {c_text(right)} ? {c_text(positive)} : {c_text(negative)})"
        case Chosen(value, positive, negative):
            return f"({c_text(value)} >= 0 ? {c_text(positive)} : {c_text(negative)})"
    raise TypeError(f"{type(expr).__name__} is not an expression of formulas")


def _factor(expr: Expr) -> str:
    """In parentheses where the operator around it binds more tightly."""
    text = c_text(expr)
    return f"({text})" if isinstance(expr, Plus | Minus) else text


def numbers_of(formula: Formula) -> tuple[Scalar, ...]:
    """The arguments that the formula takes, each once, in the order of the text."""
    found: dict[str, int] = {}
    for expr in (*(definition for _, definition in formula.definitions), formula.result):
        for number in _numbers(expr):
            found.setdefault(number.role, number.value)
    return tuple(Scalar(role, value) for role, value in found.items())


def _numbers(expr: Expr) -> Iterator[Number]:
    match expr:
        case Number():
            yield expr
        case Plus(left, right) | Minus(left, right) | Times(left, right):
            yield from _numbers(left)
            yield from _numbers(right)
        case Raised(value, _):
            yield from _numbers(value)
        case Scaled(value, multiplier, shift):
            yield from _numbers(value)
            yield from (multiplier, shift)
        case Chosen(value, positive, negative):
            for part in (value, positive, negative):
                yield from _numbers(part)
