"""Interpolated: a function of int16 steps, as a table of its results with a line between two entries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import Int64
from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.quantized import describe

FRACTION_BITS = 8
"""Of the entries, which are steps of the result."""

MOST_BITS = 12
"""A table has at most 2**12 lines: 16 KiB."""

RESULTS = (DType.INT8, DType.INT16, DType.INT32)


@dataclass(frozen=True, slots=True)
class Interpolated(Attrs):
    """Element by element. The table holds ``2**k + 1`` int32 entries over [-2**15, 2**15]."""

    dtype: DType


def line_bits(entries: int) -> int:
    """The bits of a step below the choice of its line."""
    return 16 - ((entries - 1).bit_length() - 1)


def interpolated(table: Int64, steps: Int64, dtype: DType) -> Int64:
    """The exact meaning: the line's value at the step, rounded to nearest, ties upwards."""
    bits = line_bits(len(table))
    raised = steps + (1 << 15)
    place, rest = raised >> bits, raised & ((1 << bits) - 1)
    value = (table[place] << bits) + (table[place + 1] - table[place]) * rest
    whole = (value + (1 << (bits + FRACTION_BITS - 1))) >> (bits + FRACTION_BITS)
    return np.asarray(np.clip(whole, *dtype.limits), np.int64)


def table_of(results: Array, bits: int, dtype: DType) -> Int64:
    """The entries of 2**bits lines through a function's results for every int16 step, in real steps."""
    low, high = dtype.limits
    step = 1 << (16 - bits)
    knots = results[::step]
    # Beyond the last step the line goes on as it came.
    last = (
        2 * results[-1] - results[-2]
        if step == 1
        else knots[-1] + (results[-1] - knots[-1]) * step / (step - 1)
    )
    cut = np.clip(np.append(knots, last), low - 2.0**16, high + 2.0**16)
    return np.asarray(np.rint(cut * (1 << FRACTION_BITS)), np.int64)


def _reference(site: Site[Interpolated], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    dtype = site.attrs.dtype
    table, steps = operand(arrays, 1).astype(np.int64), operand(arrays, 0).astype(np.int64)
    return (interpolated(table, steps, dtype).astype(dtype.numpy),)


def _table_fits(site: Site[Interpolated]) -> bool:
    table = site.constant(1)
    if table is None or site.input(1).dtype is not DType.INT32 or table.ndim != 1:
        return False
    lines = len(table) - 1
    return 2 <= lines <= 1 << MOST_BITS and lines & (lines - 1) == 0


OP = Operator(
    attrs=Interpolated,
    roles=("data", "table"),
    doc="a function of int16 steps, from a table with lines between its entries",
    infer=lambda site: (TensorType(site.attrs.dtype, site.input(0).shape),),
    reference=_reference,
    macs=no_macs,
    constraints=(
        Constraint(
            f"the data is int16, the result int8 to int32; the table int32 of up to 2**{MOST_BITS} lines",
            lambda site: (
                site.input(0).dtype is DType.INT16 and site.attrs.dtype in RESULTS and _table_fits(site)
            ),
            lambda site: f"{describe(site.input(0))}, {describe(site.input(1))}",
            "repair the model",
            gate=True,
        ),
    ),
)
