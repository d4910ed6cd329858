"""Moves in plain C: loop nests of copies, runs of bytes where elements stay neighbours."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import DType
from tinydeploy.kernels.base import (
    Banded,
    Constant,
    CType,
    Instance,
    Kernel,
    Kind,
    Knobs,
    Params,
    Schedule,
    constant,
)
from tinydeploy.kernels.move.regions import NESTS, Moves, Region, can_move, moves_of
from tinydeploy.kernels.nest import Loop, shape_text, whole_access, whole_result
from tinydeploy.ops import AnySite
from tinydeploy.ops.concatenation import Concatenation, brought, changes_scale

INSTRUCTIONS_PER_ELEMENT = 6
INSTRUCTIONS_PER_RUN = 20

_CTYPES = {1: "int8_t", 2: "int16_t", 4: "int32_t", 8: "int64_t"}
MIN_RUN = 4
"""Elements from which on a run is copied as bytes."""


@dataclass(frozen=True, slots=True)
class RegionParams:
    """One nest; ``run`` elements are copied at once, ``table`` changes the scale of each."""

    operand: int
    to: int
    source: int
    loops: tuple[Loop, ...]
    run: int
    table: str | None


@dataclass(frozen=True, slots=True)
class MoveParams(Params):
    """``inputs`` counts the operands; elements not written by a region hold ``fill``: a step, a number, or
    the name of an infinity."""

    ctype: str
    element_bytes: int
    elements: int
    fill: int | float | str | None
    inputs: int
    regions: tuple[RegionParams, ...]


def _region(region: Region, table: str | None) -> RegionParams:
    loops, run = region.loops, 1
    last = loops[-1] if loops and table is None else None
    if last is not None and last.strides == (1, 1) and last.table is None and last.extent >= MIN_RUN:
        loops, run = loops[:-1], last.extent
    return RegionParams(region.operand, region.to, region.source, loops, run, table)


def ctype_of(dtype: DType) -> str:
    """The C type that holds an element while it moves: signed, whatever its sign."""
    return "float" if dtype is DType.FLOAT32 else _CTYPES[dtype.bits // 8]


def _fill(value: float | None, dtype: DType) -> int | float | str | None:
    """The border's value in the type of ``ctype_of``."""
    if value is None:
        return None
    if dtype is DType.FLOAT32:
        if math.isinf(value):
            return "TD_INFINITY" if value > 0 else "-TD_INFINITY"
        return float(np.float32(value))
    half = 1 << (dtype.bits - 1)
    return (int(value) + half) % (2 * half) - half


def _constants(site: AnySite, moves: Moves) -> tuple[Constant, ...]:
    """The places of uneven loops, and the tables that change scales."""
    found = [
        constant(name, CType.INT32, Kind.TABLE, np.array(places, np.int64))
        for region in moves.regions
        for name, places in region.tables
    ]
    if isinstance(site.attrs, Concatenation):
        steps = np.arange(-128, 128).astype(np.int8)
        found += [
            constant(f"steps{index}", CType.INT8, Kind.TABLE, brought(site, index, steps))
            for index in range(len(site.inputs))
            if changes_scale(site, index)
        ]
    return tuple(found)


def _table(site: AnySite, region: Region) -> str | None:
    if isinstance(site.attrs, Concatenation) and changes_scale(site, region.operand):
        return f"steps{region.operand}"
    return None


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    moves, output = moves_of(site), site.outputs[0]
    operands = tuple(range(len(site.inputs)))
    params = MoveParams(
        ctype=ctype_of(output.dtype),
        element_bytes=output.dtype.bits // 8,
        elements=output.elements,
        fill=_fill(moves.fill, output.dtype),
        inputs=len(operands),
        regions=tuple(_region(region, _table(site, region)) for region in moves.regions),
    )
    longest = max(region.run for region in params.regions)
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"{type(site.attrs).__name__}, {shape_text(site.input(0).shape)} -> {shape_text(output.shape)}",
        band=1,
        flat=True,
        operands=operands,
        accesses=tuple(whole_access(site, index) for index in operands),
        result=whole_result(site),
        constants=_constants(site, moves),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=(
            output.elements * INSTRUCTIONS_PER_ELEMENT
            if longest == 1
            else output.elements + output.elements // longest * INSTRUCTIONS_PER_RUN
        ),
    )


SCHEDULE = Schedule(
    name="move/scalar",
    op=tuple(NESTS),
    doc="plain C; loop nests of copies",
    applies=lambda site, _target: can_move(site),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=("td_copy.h", "td_rows.h"),
)
