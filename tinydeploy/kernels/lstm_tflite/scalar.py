"""LstmTflite in plain C: all gates of a step, in scratch, before any of its states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array
from tinydeploy.kernels.base import (
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
from tinydeploy.kernels.nest import shape_text, whole_access, whole_result
from tinydeploy.kernels.wide.sigmoids import sigmoid_constant
from tinydeploy.ops import OPS, AnySite
from tinydeploy.ops.lstm_tflite import (
    BIASES,
    CELL,
    GATES,
    HIDDEN,
    RECURRENT,
    WEIGHTS,
    LstmTflite,
    cell_brought,
    cell_limit,
    factors,
    sizes,
)
from tinydeploy.ops.quantized import quant_of

INSTRUCTIONS_PER_MAC = 5
INSTRUCTIONS_PER_UNIT = 300


@dataclass(frozen=True, slots=True)
class LstmParams(Params):
    """``clip`` is the largest step of the cell, None where only int16 bounds it."""

    batch: int
    steps: int
    inputs: int
    units: int
    time_major: bool
    clip: int | None


def _stacked(site: AnySite, first: int) -> Array:
    """The constants of the four gates, one after the other."""
    found = [site.constant(first + gate) for gate in range(len(GATES))]
    return np.concatenate([array.astype(np.int64) for array in found if array is not None])


def _constants(site: AnySite) -> tuple[Constant, ...]:
    """Zero points are folded into biases and into the starts of recurrent sums."""
    weights, recurrent, biases = (_stacked(site, first) for first in (WEIGHTS, RECURRENT, BIASES))
    starts = -quant_of(site.input(HIDDEN)).zero_point * recurrent.sum(axis=1)
    biases = biases - quant_of(site.input(0)).zero_point * weights.sum(axis=1)
    found = factors(site)
    return (
        constant("weights", CType.INT8, Kind.WEIGHTS, weights.reshape(-1)),
        constant("recurrent", CType.INT8, Kind.WEIGHTS, recurrent.reshape(-1)),
        constant("biases", CType.INT32, Kind.TABLE, biases),
        constant("starts", CType.INT32, Kind.TABLE, starts),
        *(
            constant(f"{role}_factors", CType.INT32, Kind.TABLE, np.array(pairs, np.int64).reshape(-1))
            for role, pairs in (
                ("input", found.inputs),
                ("recurrent", found.recurrent),
                ("gate", (found.forget, found.remember, found.output)),
            )
        ),
        sigmoid_constant(),
    )


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    size = sizes(site)
    brought = cell_brought(site)
    params = LstmParams(
        batch=size.batch,
        steps=size.steps,
        inputs=size.inputs,
        units=size.units,
        time_major=site.attrs.time_major,
        clip=cell_limit(site) if site.attrs.cell_clip > 0 else None,
    )
    operands = (0, HIDDEN, CELL)
    units = size.batch * size.steps * size.units
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"LstmTflite, {shape_text(site.input(0).shape)} -> {shape_text(site.outputs[0].shape)}",
        band=1,
        flat=True,
        operands=operands,
        accesses=tuple(whole_access(site, index) for index in operands),
        result=whole_result(site),
        constants=_constants(site),
        scalars=(
            Scalar("cell_multiplier", brought.multiplier),
            Scalar("cell_shift", brought.shift),
            Scalar("hidden_zero_point", quant_of(site.input(HIDDEN)).zero_point),
        ),
        scratch_bytes=2 * len(GATES) * size.units,
        cost_instructions=OPS["LstmTflite"].macs(site) * INSTRUCTIONS_PER_MAC + units * INSTRUCTIONS_PER_UNIT,
        more=tuple(Result(1, type_.bytes) for type_ in site.outputs[1:]),
    )


SCHEDULE = Schedule(
    name="lstm_tflite/scalar",
    op=LstmTflite,
    doc="plain C; int8 data, int16 gates and cell",
    applies=lambda _site, _target: True,
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=("td_copy.h", "td_rows.h", "td_wide.h"),
)
