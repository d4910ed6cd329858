"""Resample in plain C: for each output along the axis its taps, places and weights from tables."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, DType
from tinydeploy.kernels.base import (
    Banded,
    CType,
    Instance,
    Kernel,
    Kind,
    Knobs,
    Params,
    Scalar,
    Schedule,
    constant,
)
from tinydeploy.kernels.nest import shape_text, whole_access, whole_result
from tinydeploy.ops import AnySite
from tinydeploy.ops.base import is_plain
from tinydeploy.ops.quantized import quant_of
from tinydeploy.ops.resample import BITS, Resample, fixed_weights

INSTRUCTIONS_PER_TAP = 7
INSTRUCTIONS_PER_OUTPUT = 12


@dataclass(frozen=True, slots=True)
class ResampleParams(Params):
    """The data is seen as [outer, extent, inner], the output as [outer, size, inner]."""

    outer: int
    extent: int
    size: int
    inner: int
    taps: int
    ctype: str
    is_float: bool
    bits: int
    low: int
    high: int


def _table(site: AnySite, index: int) -> Array:
    array = site.constant(index)
    if array is None:
        raise ValueError(f"{site.name}: the tables are not constant")
    return array


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    data, output, axis = site.input(0), site.outputs[0], site.attrs.axis
    places, weights = _table(site, 1), _table(site, 2)
    inner = math.prod(data.shape[axis + 1 :])
    plain = is_plain(site)
    low, high = (0, 0) if plain else output.dtype.limits
    params = ResampleParams(
        outer=math.prod(data.shape[:axis]),
        extent=data.shape[axis],
        size=output.shape[axis],
        inner=inner,
        taps=places.shape[1],
        ctype="float" if data.dtype is DType.FLOAT32 else f"{data.dtype.value}_t",
        is_float=plain,
        bits=BITS,
        low=low,
        high=high,
    )
    packed = (
        constant("weights", CType.FLOAT32, Kind.TABLE, weights)
        if plain
        else constant("weights", CType.INT16, Kind.TABLE, fixed_weights(weights))
    )
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"Resample, {shape_text(data.shape)} -> {shape_text(output.shape)}, {params.taps} taps",
        band=1,
        flat=True,
        operands=(0,),
        accesses=(whole_access(site, 0),),
        result=whole_result(site),
        constants=(constant("places", CType.INT32, Kind.TABLE, places.astype(np.int64) * inner), packed),
        scalars=() if plain else (Scalar("zero_point", quant_of(output).zero_point),),
        scratch_bytes=0,
        cost_instructions=output.elements * (INSTRUCTIONS_PER_OUTPUT + params.taps * INSTRUCTIONS_PER_TAP),
    )


SCHEDULE = Schedule(
    name="resize/resample",
    op=Resample,
    doc="plain C; a product per tap",
    applies=lambda _site, _target: True,
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
)
