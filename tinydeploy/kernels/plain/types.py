"""Element types and literals in the C of plain kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import DType

C_TYPES = {
    DType.INT8: "int8_t",
    DType.UINT8: "uint8_t",
    DType.INT16: "int16_t",
    DType.UINT16: "uint16_t",
    DType.INT32: "int32_t",
    DType.UINT32: "uint32_t",
    DType.INT64: "int64_t",
    DType.FLOAT32: "float",
    DType.BOOL: "uint8_t",
}


@dataclass(frozen=True, slots=True)
class Expression:
    """The C of one element of the output: definitions in order, each (type, name, text), then the result.

    The operands' elements are called a, b and c. ``parameters`` are (name, float literal), the same for all
    elements.
    """

    result: str
    definitions: tuple[tuple[str, str, str], ...] = ()
    parameters: tuple[tuple[str, str], ...] = ()


def float_literal(value: float) -> str:
    """A C expression of the float32 number nearest to ``value``."""
    single = np.float32(value)
    if math.isnan(single):
        return "td_nanf()"
    if math.isinf(single):
        return "-td_infinityf()" if single < 0 else "td_infinityf()"
    if abs(single) < 1e6 and single == np.round(single):
        return f"{'-' if np.signbit(single) else ''}{abs(int(single))}.0f"
    return f"{np.format_float_scientific(single, unique=True, trim='0')}f".replace("e+00", "")


def int_literal(value: int, dtype: DType) -> str:
    """A C expression of an integer within ``dtype``."""
    low, _ = dtype.limits
    if value == low and dtype in (DType.INT32, DType.INT64):
        return f"({low + 1} - 1)"
    return f"{value}u" if dtype is DType.UINT32 else str(value)


def literal(value: float, dtype: DType) -> str:
    """A number as a C expression of ``dtype``."""
    return int_literal(int(value), dtype) if dtype.is_integer else float_literal(value)


def suffix_of(dtype: DType) -> str:
    """Which functions of td_numbers.h compute with ``dtype``."""
    if dtype is DType.INT64:
        return "i64"
    return "u32" if is_unsigned(dtype) else "i32"


def summand_type(dtype: DType) -> str:
    """The C type in which elements join an unsigned total.

    int32_t where they are shorter: gcc takes the extension of their sign for an accident.
    """
    return "int32_t" if dtype.is_integer and dtype.bits < 32 else C_TYPES[dtype]


def is_unsigned(dtype: DType) -> bool:
    return dtype in (DType.UINT8, DType.UINT16, DType.UINT32, DType.BOOL)


def wrapped(dtype: DType, text: str) -> str:
    """``text``, an expression that may be wider, as an element."""
    return text if dtype is DType.FLOAT32 else f"({C_TYPES[dtype]})({text})"


def unsigned(dtype: DType, name: str) -> str:
    """An integer element in the unsigned type in which it may overflow."""
    return f"({'uint64_t' if dtype is DType.INT64 else 'uint32_t'}){name}"
