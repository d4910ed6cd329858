"""Softmax and its logarithm of float32 in plain C: one row a call, the row's maximum taken away first."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.kernels.base import Access, Banded, Instance, Kernel, Knobs, Params, Result, Schedule
from tinydeploy.kernels.float_operands import FLOAT_BYTES
from tinydeploy.ops import AnySite
from tinydeploy.ops.base import is_float
from tinydeploy.ops.log_softmax import LogSoftmax
from tinydeploy.ops.softmax import Softmax

INSTRUCTIONS_PER_OUTPUT = 60


@dataclass(frozen=True, slots=True)
class FloatSoftmaxParams(Params):
    depth: int
    beta: float
    logarithm: bool


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    depth = site.input(0).shape[-1]
    rows = site.input(0).elements // depth
    attrs = site.attrs
    params = FloatSoftmaxParams(
        depth, attrs.beta if isinstance(attrs, Softmax) else 1.0, isinstance(attrs, LogSoftmax)
    )
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"{type(attrs).__name__} of float, {rows}x{depth}",
        band=1,
        flat=True,
        operands=(0,),
        accesses=(Access(rows, depth * FLOAT_BYTES),),
        result=Result(rows, depth * FLOAT_BYTES),
        constants=(),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=site.input(0).elements * INSTRUCTIONS_PER_OUTPUT,
    )


SCHEDULE = Schedule(
    name="softmax/float",
    op=(Softmax, LogSoftmax),
    doc="float32 in plain C; own exponential and logarithm",
    applies=lambda site, _target: is_float(site),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=("td_rows.h", "td_math.h"),
)
