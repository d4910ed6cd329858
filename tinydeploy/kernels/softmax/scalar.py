"""Softmax in plain C: exponentials from a table over the distance to the row's maximum."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.kernels.base import (
    Access,
    Banded,
    CType,
    Instance,
    Kernel,
    Kind,
    Knobs,
    Params,
    Result,
    Schedule,
    constant,
)
from tinydeploy.ops import AnySite
from tinydeploy.ops.blend import is_twice
from tinydeploy.ops.quantized import is_int8
from tinydeploy.ops.softmax import SUM_INTEGER_BITS, Softmax, exponentials

INSTRUCTIONS_PER_OUTPUT = 60


@dataclass(frozen=True, slots=True)
class SoftmaxParams(Params):
    """``entries`` of the table; distances beyond it count as exp = 0."""

    depth: int
    entries: int
    sum_shift: int
    bits: int = 8


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    depth = site.input(0).shape[-1]
    rows = site.input(0).elements // depth
    table, bits = exponentials(site), site.outputs[0].dtype.bits
    return Kernel(
        instance=Instance(SCHEDULE.name, SoftmaxParams(depth, len(table), SUM_INTEGER_BITS, bits)),
        title=f"Softmax, {rows}x{depth}",
        band=1,
        flat=True,
        operands=(0,),
        accesses=(Access(rows, depth),),
        result=Result(rows, depth * bits // 8),
        constants=(constant("exponentials", CType.INT32, Kind.TABLE, table),),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=site.input(0).elements * INSTRUCTIONS_PER_OUTPUT,
    )


SCHEDULE = Schedule(
    name="softmax/scalar",
    op=Softmax,
    doc="plain C; table of up to 256 exponentials",
    applies=lambda site, _target: is_int8(site.input(0)) and is_twice(site),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
)
