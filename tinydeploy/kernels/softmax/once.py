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
from tinydeploy.ops.integer_softmax import LOG_BITS, exponentials_of, is_wide, log_factors, steps_of
from tinydeploy.ops.log_softmax import LogSoftmax
from tinydeploy.ops.quantized import is_activation, quant_of
from tinydeploy.ops.softmax import Softmax

INSTRUCTIONS_PER_OUTPUT = 30
INSTRUCTIONS_PER_ROW = 300
INSTRUCTIONS_PER_LOGARITHM = 400


@dataclass(frozen=True, slots=True)
class SoftmaxParams(Params):
    """``wide``: exponentials are products of those of a distance's two bytes."""

    depth: int
    wide: bool
    source: str
    result: str
    low: int
    high: int
    log_bits: int


def _kernel(site: AnySite, name: str, factors: tuple[Scalar, ...], cost: int) -> Kernel:
    """A kernel of one row a call; ``cost`` is in instructions for a row beside its elements."""
    depth = site.input(0).shape[-1]
    rows, output = site.input(0).elements // depth, site.outputs[0]
    params = SoftmaxParams(
        depth,
        is_wide(site),
        steps_ctype(site.input(0)),
        steps_ctype(output),
        *output.dtype.limits,
        log_bits=LOG_BITS,
    )
    tables = [constant("exponentials", CType.INT32, Kind.TABLE, exponentials_of(site))]
    if params.wide:
        tables.append(constant("coarse", CType.INT32, Kind.TABLE, exponentials_of(site, 256)))
    return Kernel(
        instance=Instance(name, params),
        title=f"{type(site.attrs).__name__}, {rows}x{depth}",
        band=1,
        flat=True,
        operands=(0,),
        accesses=(Access(rows, site.input(0).bytes // rows),),
        result=Result(rows, output.bytes // rows),
        constants=tuple(tables),
        scalars=(*factors, Scalar("output_zero_point", quant_of(output).zero_point)),
        scratch_bytes=0,
        cost_instructions=rows * cost + site.input(0).elements * INSTRUCTIONS_PER_OUTPUT,
    )


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    known = steps_of(site)
    factors = Scalar("multiplier", known.multiplier), Scalar("exponent", known.exponent)
    return _kernel(site, SCHEDULE.name, factors, INSTRUCTIONS_PER_ROW)


def _make_log(site: AnySite, _knobs: Knobs) -> Kernel:
    known = log_factors(site)
    factors = (
        Scalar("step", known.step),
        Scalar("unit", known.unit),
        Scalar("exponent", known.exponent),
    )
    return _kernel(site, LOG_SCHEDULE.name, factors, INSTRUCTIONS_PER_LOGARITHM)


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

LOG_SCHEDULE = Schedule(
    name="softmax/log_once",
    op=LogSoftmax,
    doc="plain C; table of 256 exponentials, one logarithm bit by bit per row",
    applies=lambda site, _target: is_activation(site.input(0)) and is_activation(site.outputs[0]),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make_log,
)
