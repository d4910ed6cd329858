"""FullyConnected with SMLAD: one vector of data, four outputs at a time."""

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
from tinydeploy.kernels.dsp import interleave, words_of
from tinydeploy.kernels.requantize import Requantize, fold, is_supported
from tinydeploy.kernels.targets import Feature
from tinydeploy.kernels.windowed import weights_of
from tinydeploy.ops import AnySite
from tinydeploy.ops.fully_connected import FullyConnected, rows_of

GROUP = 4
"""Outputs whose weights are read together."""

INSTRUCTIONS_PER_MAC = 1.5
INSTRUCTIONS_PER_OUTPUT = 16


@dataclass(frozen=True, slots=True)
class DenseDspParams(Params):
    """A vector that is no whole number of words is copied to scratch with zeros behind it."""

    inputs: int
    channels_out: int
    words: int
    requantize: Requantize


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    outputs, inputs = site.input(1).shape
    rows = rows_of(site)
    weights = weights_of(site)
    folded = fold(site, channel_axis=0)
    packed = interleave(weights, GROUP)
    return Kernel(
        instance=Instance(SCHEDULE.name, DenseDspParams(inputs, outputs, words_of(inputs), folded.params)),
        title=f"FullyConnected, {rows}x{inputs} -> {rows}x{outputs}",
        band=1,
        flat=True,
        operands=(0,),
        accesses=(Access(rows, inputs),),
        result=Result(rows, outputs),
        constants=(constant("weights", CType.INT8, Kind.WEIGHTS, packed), *folded.constants),
        scalars=folded.scalars,
        scratch_bytes=4 * words_of(inputs) if inputs % 4 else 0,
        cost_instructions=int(rows * outputs * (inputs * INSTRUCTIONS_PER_MAC + INSTRUCTIONS_PER_OUTPUT)),
    )


SCHEDULE = Schedule(
    name="fully_connected/dsp",
    op=FullyConnected,
    doc="SMLAD, four outputs at a time; scratch only where the vector is no multiple of 4",
    applies=lambda site, target: target.has(Feature.DSP) and is_supported(site),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=("td_fixed_point.h", "td_rows.h", "td_dsp.h"),
)
