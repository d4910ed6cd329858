"""Functions of one int8 element: a table of 256 results, made by the reference at compile time."""

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
from tinydeploy.kernels.nest import lines_of, shape_text
from tinydeploy.kernels.targets import Target
from tinydeploy.ops import OPS, AnySite
from tinydeploy.ops.hard_swish import HardSwish
from tinydeploy.ops.leaky_relu import LeakyRelu
from tinydeploy.ops.logistic import Logistic
from tinydeploy.ops.relu import Relu
from tinydeploy.ops.requantize import Requantize
from tinydeploy.ops.tanh import Tanh
from tinydeploy.ops.unary import table_of

INSTRUCTIONS_PER_OUTPUT = 5


@dataclass(frozen=True, slots=True)
class LookupParams(Params):
    elements: int


def _knobs(site: AnySite, _target: Target) -> tuple[Knobs, ...]:
    rows = lines_of(site)
    return (Banded(rows), Banded(1)) if rows > 1 else (Banded(1),)


def _make(site: AnySite, knobs: Knobs) -> Kernel:
    band = knobs.band if isinstance(knobs, Banded) else 1
    rows, output = lines_of(site), site.outputs[0]
    row_bytes = output.bytes // rows
    name = type(site.attrs).__name__
    return Kernel(
        instance=Instance(SCHEDULE.name, LookupParams(band * row_bytes)),
        title=f"{name}, {shape_text(output.shape)}",
        band=band,
        flat=True,
        operands=(0,),
        accesses=(Access(rows, row_bytes),),
        result=Result(rows, row_bytes),
        constants=(constant("table", CType.INT8, Kind.TABLE, table_of(site, OPS[name].reference)),),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=output.elements * INSTRUCTIONS_PER_OUTPUT,
    )


SCHEDULE = Schedule(
    name="lookup/scalar",
    op=(HardSwish, LeakyRelu, Logistic, Relu, Requantize, Tanh),
    doc="plain C; one load from a table of 256 results per element",
    applies=lambda _site, _target: True,
    knobs=_knobs,
    make=_make,
)
