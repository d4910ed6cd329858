"""Svdf in plain C: the memory moves to its new place one step older, then is summed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import DType
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
from tinydeploy.kernels.float_operands import Clamp, clamp_of
from tinydeploy.kernels.nest import whole_access, whole_result
from tinydeploy.ops import OPS, AnySite
from tinydeploy.ops.base import is_plain
from tinydeploy.ops.quantized import quant_of
from tinydeploy.ops.svdf import BIAS, STATE, Svdf, factors, sizes

INSTRUCTIONS_PER_MAC = 5
INSTRUCTIONS_PER_UNIT = 40

_CTYPES = {DType.INT8: CType.INT8, DType.INT16: CType.INT16, DType.FLOAT32: CType.FLOAT32}


@dataclass(frozen=True, slots=True)
class SvdfParams(Params):
    """``data``, ``state`` and ``sum`` are C types; floats have a clamp, steps the state's limits."""

    batch: int
    inputs: int
    filters: int
    memory: int
    units: int
    rank: int
    data: str
    state: str
    sum: str
    state_low: int
    state_high: int
    bias: bool
    clamp: Clamp
    is_float: bool


def _steps(site: AnySite) -> tuple[tuple[Constant, ...], tuple[Scalar, ...]]:
    """Constants with zero points folded into the first terms of sums, and factors."""
    features, times, bias = (site.constant(index) for index in (1, 2, BIAS))
    if features is None or times is None:
        raise ValueError(f"{site.name}: weights are not constant")
    first, second = factors(site)
    zero_point = quant_of(site.input(STATE)).zero_point
    per_filter = times.astype(np.int64).sum(axis=1).reshape(-1, site.attrs.rank).sum(axis=1)
    starts = -quant_of(site.input(0)).zero_point * features.astype(np.int64).sum(axis=1)
    ends = -zero_point * per_filter + (0 if bias is None else bias.astype(np.int64))
    constants = (
        constant("features", CType.INT8, Kind.WEIGHTS, features.reshape(-1)),
        constant("times", _CTYPES[site.input(2).dtype], Kind.WEIGHTS, times.reshape(-1)),
        constant("starts", CType.INT32, Kind.TABLE, starts),
        constant("bias", CType.INT32, Kind.TABLE, ends),
    )
    scalars = (
        Scalar("first_multiplier", first[0]),
        Scalar("first_shift", first[1]),
        Scalar("state_zero_point", zero_point),
        Scalar("multiplier", second[0]),
        Scalar("shift", second[1]),
        Scalar("output_zero_point", quant_of(site.outputs[0]).zero_point),
    )
    return constants, scalars


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    size, plain = sizes(site), is_plain(site)
    state = site.input(STATE).dtype
    low, high = (0, 0) if plain else state.limits
    params = SvdfParams(
        batch=size.batch,
        inputs=size.inputs,
        filters=size.filters,
        memory=size.memory,
        units=size.units,
        rank=site.attrs.rank,
        data=_CTYPES[site.input(0).dtype].value,
        state=_CTYPES[state].value,
        sum="float" if plain else "int32_t",
        state_low=low,
        state_high=high,
        bias=site.has(BIAS) or not plain,
        clamp=clamp_of(site.attrs.activation),
        is_float=plain,
    )
    weights = tuple(index for index in (1, 2, BIAS) if site.has(index)) if plain else ()
    operands = (0, STATE, *weights)
    constants, scalars = ((), ()) if plain else _steps(site)
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"Svdf, {size.inputs} -> {size.units}, {size.filters} filters of {size.memory}",
        band=1,
        flat=True,
        operands=operands,
        accesses=tuple(whole_access(site, index) for index in operands),
        result=whole_result(site),
        constants=constants,
        scalars=scalars,
        scratch_bytes=0,
        cost_instructions=OPS["Svdf"].macs(site) * INSTRUCTIONS_PER_MAC + size.units * INSTRUCTIONS_PER_UNIT,
        more=(Result(1, site.outputs[1].bytes),),
    )


SCHEDULE = Schedule(
    name="svdf/scalar",
    op=Svdf,
    doc="plain C; int8 with an int8 or int16 state, or float32",
    applies=lambda _site, _target: True,
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
)
