"""Softmax rounded once, in plain C: a table of 256 exponentials, one long division per row."""

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
    Scalar,
    Schedule,
    constant,
)
from tinydeploy.kernels.image import steps_ctype
from tinydeploy.ops import AnySite
from tinydeploy.ops.blend import is_once
from tinydeploy.ops.integer_softmax import exponentials_of, is_wide, steps_of
from tinydeploy.ops.quantized import is_activation, quant_of
from tinydeploy.ops.softmax import Softmax

INSTRUCTIONS_PER_OUTPUT = 30
INSTRUCTIONS_PER_ROW = 300


@dataclass(frozen=True, slots=True)
class SoftmaxParams(Params):
    """``wide``: exponentials are products of those of a distance's two bytes."""

    depth: int
    wide: bool
    source: str
    result: str
    low: int
    high: int


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    depth = site.input(0).shape[-1]
    rows = site.input(0).elements // depth
    known, output = steps_of(site), site.outputs[0]
    params = SoftmaxParams(
        depth, is_wide(site), steps_ctype(site.input(0)), steps_ctype(output), *output.dtype.limits
    )
    tables = [constant("exponentials", CType.INT32, Kind.TABLE, exponentials_of(site))]
    if params.wide:
        tables.append(constant("coarse", CType.INT32, Kind.TABLE, exponentials_of(site, 256)))
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"Softmax, {rows}x{depth}",
        band=1,
        flat=True,
        operands=(0,),
        accesses=(Access(rows, site.input(0).bytes // rows),),
        result=Result(rows, output.bytes // rows),
        constants=tuple(tables),
        scalars=(
            Scalar("multiplier", known.multiplier),
            Scalar("exponent", known.exponent),
            Scalar("output_zero_point", quant_of(site.outputs[0]).zero_point),
        ),
        scratch_bytes=0,
        cost_instructions=rows * INSTRUCTIONS_PER_ROW + site.input(0).elements * INSTRUCTIONS_PER_OUTPUT,
    )


SCHEDULE = Schedule(
    name="softmax/once",
    op=Softmax,
    doc="plain C; table of 256 exponentials, one reciprocal per row",
    applies=lambda site, _target: (
        is_once(site) and is_activation(site.input(0)) and is_activation(site.outputs[0])
    ),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
)
