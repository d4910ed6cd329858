"""FullyConnected in plain C: one vector of data a call, one output at a time."""

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
from tinydeploy.kernels.requantize import Requantize, fold, is_supported
from tinydeploy.kernels.windowed import weights_of
from tinydeploy.ops import AnySite
from tinydeploy.ops.fully_connected import FullyConnected, rows_of

INSTRUCTIONS_PER_MAC = 4
INSTRUCTIONS_PER_OUTPUT = 25


@dataclass(frozen=True, slots=True)
class DenseParams(Params):
    inputs: int
    outputs: int
    requantize: Requantize


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    outputs, inputs = site.input(1).shape
    rows = rows_of(site)
    weights = weights_of(site)
    folded = fold(site, channel_axis=0)
    return Kernel(
        instance=Instance(SCHEDULE.name, DenseParams(inputs, outputs, folded.params)),
        title=f"FullyConnected, {rows}x{inputs} -> {rows}x{outputs}",
        band=1,
        flat=True,
        operands=(0,),
        accesses=(Access(rows, inputs),),
        result=Result(rows, outputs),
        constants=(constant("weights", CType.INT8, Kind.WEIGHTS, weights.reshape(-1)), *folded.constants),
        scalars=folded.scalars,
        scratch_bytes=0,
        cost_instructions=rows * outputs * (inputs * INSTRUCTIONS_PER_MAC + INSTRUCTIONS_PER_OUTPUT),
    )


SCHEDULE = Schedule(
    name="fully_connected/scalar",
    op=FullyConnected,
    doc="plain C; streams the weights once per vector",
    applies=lambda site, _target: is_supported(site),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
)
