"""Binary: a function of two plain elements, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from tinydeploy.ir import Array, Attrs, DType
from tinydeploy.ops.base import AnySite, Constraint, Operator, Site, no_macs
from tinydeploy.ops.binary import broadcast_constraint, broadcast_infer
from tinydeploy.ops.integers import floored_modulo, power, shifted_left, shifted_right, truncated_quotient
from tinydeploy.ops.plain import INTEGERS, NUMBERS, names_of, not_quantized, plain_reference, widened
from tinydeploy.ops.quantized import describe


class BinaryFunction(Enum):
    """The functions of a and b."""

    BIT_AND = "bit_and"
    BIT_OR = "bit_or"
    BIT_XOR = "bit_xor"
    DIV = "div"
    """Integers are cut towards zero; a quotient by 0 is 0."""
    FLOOR_DIV = "floor_div"
    FMOD = "fmod"
    """The remainder with the sign of a; 0 where integers are divided by 0."""
    MOD = "mod"
    """The remainder with the sign of b; 0 where integers are divided by 0."""
    POW = "pow"
    """b may have another type; a negative power of an integer is cut towards zero."""
    SHIFT_LEFT = "shift_left"
    """Bits that leave the type are lost; b is not negative."""
    SHIFT_RIGHT = "shift_right"
    SQUARED_DIFFERENCE = "squared_difference"


@dataclass(frozen=True, slots=True)
class Binary(Attrs):
    """Element by element; the shapes broadcast."""

    function: BinaryFunction


@dataclass(frozen=True, slots=True)
class Meaning:
    """A function of floats in float64, of integers in their own type, and the element types that it takes."""

    of: Callable[[Array, Array], Array]
    types: tuple[DType, ...] = NUMBERS


def _divided(a: Array, b: Array) -> Array:
    return truncated_quotient(a, b) if a.dtype.kind in "iu" else a / b


def _floor_divided(a: Array, b: Array) -> Array:
    if a.dtype.kind not in "iu":
        return np.floor((a / b).astype(np.float32))
    return np.where(b == 0, 0, np.floor_divide(a, np.where(b == 0, 1, b).astype(b.dtype)))


def _fmod(a: Array, b: Array) -> Array:
    if a.dtype.kind not in "iu":
        return np.asarray(np.fmod(a, b))
    return np.where(b == 0, 0, a - truncated_quotient(a, b) * b)


_F = BinaryFunction
MEANINGS: dict[BinaryFunction, Meaning] = {
    _F.BIT_AND: Meaning(np.bitwise_and, INTEGERS),
    _F.BIT_OR: Meaning(np.bitwise_or, INTEGERS),
    _F.BIT_XOR: Meaning(np.bitwise_xor, INTEGERS),
    _F.DIV: Meaning(_divided),
    _F.FLOOR_DIV: Meaning(_floor_divided),
    _F.FMOD: Meaning(_fmod),
    _F.MOD: Meaning(floored_modulo),
    _F.POW: Meaning(power),
    _F.SHIFT_LEFT: Meaning(shifted_left, INTEGERS),
    _F.SHIFT_RIGHT: Meaning(shifted_right, INTEGERS),
    _F.SQUARED_DIFFERENCE: Meaning(lambda a, b: np.square(a - b)),
}


def _compute(site: Site[Binary], data: tuple[Array, ...]) -> Array:
    return MEANINGS[site.attrs.function].of(widened(data[0]), widened(data[1]))


def _types_fit(site: AnySite) -> bool:
    a, b = site.input(0).dtype, site.input(1).dtype
    if site.attrs.function is BinaryFunction.POW:
        return a in NUMBERS and b in NUMBERS
    return a is b and a in MEANINGS[site.attrs.function].types


def _got(site: AnySite) -> str:
    types = names_of(MEANINGS[site.attrs.function].types)
    operands = " and ".join(describe(site.input(index)) for index in range(2))
    return f"{site.attrs.function.value} of {operands}: {types}"


OP = Operator(
    attrs=Binary,
    roles=("a", "b"),
    doc="a function of two elements, shapes broadcast: "
    + ", ".join(function.value for function in BinaryFunction),
    infer=broadcast_infer,
    reference=plain_reference(_compute),
    macs=no_macs,
    constraints=(
        not_quantized(),
        Constraint(
            "the function takes the element types: both the same, except for pow",
            _types_fit,
            _got,
            "cast the data to types that the function takes",
            gate=True,
        ),
        broadcast_constraint(2),
    ),
)
