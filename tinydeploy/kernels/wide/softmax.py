"""Softmax of int16 steps in plain C: exponentials wait in the output until their sum is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import DType
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
from tinydeploy.ops import AnySite
from tinydeploy.ops.blend import is_twice
from tinydeploy.ops.softmax import Softmax, wide_factor
from tinydeploy.ops.wide_tables import exp_lines, reciprocal_lines

INSTRUCTIONS_PER_OUTPUT = 50


@dataclass(frozen=True, slots=True)
class WideSoftmaxParams(Params):
    depth: int


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    depth = site.input(0).shape[-1]
    rows = site.input(0).elements // depth
    multiplier, shift = wide_factor(site)
    return Kernel(
        instance=Instance(SCHEDULE.name, WideSoftmaxParams(depth)),
        title=f"Softmax, {rows}x{depth}",
        band=1,
        flat=True,
        operands=(0,),
        accesses=(Access(rows, 2 * depth),),
        result=Result(rows, 2 * depth),
        constants=(
            constant("exponentials", CType.INT16, Kind.TABLE, np.array(exp_lines(), np.int64)),
            constant("reciprocals", CType.INT16, Kind.TABLE, np.array(reciprocal_lines(), np.int64)),
        ),
        scalars=(Scalar("multiplier", multiplier), Scalar("shift", shift)),
        scratch_bytes=0,
        cost_instructions=site.input(0).elements * INSTRUCTIONS_PER_OUTPUT,
    )


SCHEDULE = Schedule(
    name="wide/softmax",
    op=Softmax,
    doc="plain C; int16 steps, tables of 512 lines",
    applies=lambda site, _target: is_twice(site) and site.input(0).dtype is DType.INT16,
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=("td_rows.h", "td_wide.h"),
)
