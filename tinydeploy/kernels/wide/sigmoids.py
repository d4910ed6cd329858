"""Logistic and Tanh of int16 steps in plain C: one table of 256 entries, straight lines between them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.kernels.base import (
    Access,
    Banded,
    Constant,
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
from tinydeploy.kernels.nest import lines_of, shape_text
from tinydeploy.kernels.targets import Target
from tinydeploy.ops import AnySite
from tinydeploy.ops.logistic import Logistic
from tinydeploy.ops.quantized import is_quantized
from tinydeploy.ops.sigmoids import brought_of, is_wide
from tinydeploy.ops.tanh import Tanh
from tinydeploy.ops.wide_tables import sigmoid_table

INSTRUCTIONS_PER_OUTPUT = 25

_FUNCTIONS = {Logistic: ("td_wide_sigmoid", (0,)), Tanh: ("td_wide_tanh", (0, 1))}


@dataclass(frozen=True, slots=True)
class SigmoidsParams(Params):
    elements: int
    function: str


def sigmoid_constant() -> Constant:
    """The table as C has it: lowered by 2**15, so that it fits int16."""
    return constant("table", CType.INT16, Kind.TABLE, np.array(sigmoid_table(), np.int64) - (1 << 15))


def _knobs(site: AnySite, _target: Target) -> tuple[Knobs, ...]:
    rows = lines_of(site)
    return (Banded(rows), Banded(1)) if rows > 1 else (Banded(1),)


def _make(site: AnySite, knobs: Knobs) -> Kernel:
    band = knobs.band if isinstance(knobs, Banded) else 1
    rows, output = lines_of(site), site.outputs[0]
    function, shifts = _FUNCTIONS[type(site.attrs)]
    factor = brought_of(site, shifts)
    return Kernel(
        instance=Instance(SCHEDULE.name, SigmoidsParams(band * output.elements // rows, function)),
        title=f"{type(site.attrs).__name__}, {shape_text(output.shape)}",
        band=band,
        flat=True,
        operands=(0,),
        accesses=(Access(rows, output.bytes // rows),),
        result=Result(rows, output.bytes // rows),
        constants=(sigmoid_constant(),),
        scalars=(Scalar("multiplier", factor.multiplier), Scalar("shift", factor.shift)),
        scratch_bytes=0,
        cost_instructions=output.elements * INSTRUCTIONS_PER_OUTPUT,
    )


SCHEDULE = Schedule(
    name="wide/sigmoids",
    op=tuple(_FUNCTIONS),
    doc="plain C; int16 steps, a table of 256 entries and lines between them",
    applies=lambda site, _target: is_quantized(site) and is_wide(site),
    knobs=_knobs,
    make=_make,
    headers=("td_rows.h", "td_wide.h"),
)
