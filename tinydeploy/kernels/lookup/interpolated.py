"""Functions of one int16 element in plain C: two loads from a table, one 64-bit product."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.ir import Array
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
from tinydeploy.kernels.edge.params import C_STEPS
from tinydeploy.kernels.nest import lines_of, shape_text
from tinydeploy.kernels.targets import Target
from tinydeploy.ops import AnySite
from tinydeploy.ops.interpolated import FRACTION_BITS, Interpolated, line_bits

INSTRUCTIONS_PER_OUTPUT = 16


@dataclass(frozen=True, slots=True)
class InterpolatedParams(Params):
    """``bits`` of a step lie below the choice of its line; entries have ``fraction`` bits of their own."""

    elements: int
    result: str
    bits: int
    fraction: int
    low: int
    high: int


def _table(site: AnySite) -> Array:
    table = site.constant(1)
    if table is None:
        raise ValueError(f"{site.name}: the table is not constant")
    return table


def _knobs(site: AnySite, _target: Target) -> tuple[Knobs, ...]:
    rows = lines_of(site)
    return (Banded(rows), Banded(1)) if rows > 1 else (Banded(1),)


def _make(site: AnySite, knobs: Knobs) -> Kernel:
    band = knobs.band if isinstance(knobs, Banded) else 1
    rows, output, table = lines_of(site), site.outputs[0], _table(site)
    low, high = output.dtype.limits
    params = InterpolatedParams(
        elements=band * output.elements // rows,
        result=C_STEPS[output.dtype],
        bits=line_bits(len(table)),
        fraction=FRACTION_BITS,
        low=max(low, -high),
        high=high,
    )
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"Interpolated, {shape_text(output.shape)}",
        band=band,
        flat=True,
        operands=(0,),
        accesses=(Access(rows, site.input(0).bytes // rows),),
        result=Result(rows, output.bytes // rows),
        constants=(constant("table", CType.INT32, Kind.TABLE, table),),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=output.elements * INSTRUCTIONS_PER_OUTPUT,
    )


SCHEDULE = Schedule(
    name="lookup/interpolated",
    op=Interpolated,
    doc="plain C; a line between two entries of a table",
    applies=lambda _site, _target: True,
    knobs=_knobs,
    make=_make,
)
