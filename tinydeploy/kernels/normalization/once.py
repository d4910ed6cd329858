"""Normalization of steps in plain C: two passes over each group, one square root and one division between."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
from tinydeploy.kernels.image import steps_ctype
from tinydeploy.kernels.nest import (
    Loop,
    broadcast_strides,
    merged,
    shape_text,
    strides_of,
    whole_access,
    whole_result,
)
from tinydeploy.ops import AnySite
from tinydeploy.ops.integer_normalization import FRACTION_BITS, elements_of, factors_of
from tinydeploy.ops.normalization import Normalization
from tinydeploy.ops.quantized import is_activation, quant_of

INSTRUCTIONS_PER_ELEMENT = 35
INSTRUCTIONS_PER_GROUP = 900


@dataclass(frozen=True, slots=True)
class NormalizationParams(Params):
    """Nests over groups and over the elements of one; ``varies``: scale and bias are not one number each."""

    outer: tuple[Loop, ...]
    inner: tuple[Loop, ...]
    count: int
    centres: bool
    varies: bool
    room: int
    drop: int
    exponent: int
    ctype: str
    low: int
    high: int


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    shape, axes = site.input(0).shape, site.attrs.axes
    known = factors_of(site)
    strides = zip(strides_of(shape), broadcast_strides(known.scale.shape, len(shape)), strict=True)
    loops = [Loop(extent, both) for extent, both in zip(shape, strides, strict=True)]
    count = elements_of(site)
    params = NormalizationParams(
        outer=merged(loop for axis, loop in enumerate(loops) if axis not in axes),
        inner=merged(loops[axis] for axis in axes),
        count=count,
        centres=site.attrs.norm.centres,
        varies=known.scale.size > 1,
        room=known.room,
        drop=61 - FRACTION_BITS - known.room // 2,
        exponent=known.exponent,
        ctype=steps_ctype(site.input(0)),
        low=site.outputs[0].dtype.limits[0],
        high=site.outputs[0].dtype.limits[1],
    )
    elements = site.input(0).elements
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"Normalization, {shape_text(shape)} in groups of {count}",
        band=1,
        flat=True,
        operands=(0,),
        accesses=(whole_access(site, 0),),
        result=whole_result(site),
        constants=(
            constant("epsilon", CType.INT64, Kind.TABLE, np.array([known.epsilon], np.int64)),
            constant("scale", CType.INT32, Kind.TABLE, known.scale.reshape(-1)),
            constant("bias", CType.INT64, Kind.TABLE, known.bias.reshape(-1)),
        ),
        scalars=(
            Scalar("input_zero_point", quant_of(site.input(0)).zero_point),
            Scalar("output_zero_point", quant_of(site.outputs[0]).zero_point),
        ),
        scratch_bytes=0,
        cost_instructions=elements * INSTRUCTIONS_PER_ELEMENT + elements // count * INSTRUCTIONS_PER_GROUP,
    )


SCHEDULE = Schedule(
    name="normalization/once",
    op=Normalization,
    doc="plain C; exact sums, one integer square root and one reciprocal per group",
    applies=lambda site, _target: is_activation(site.input(0)) and is_activation(site.outputs[0]),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
)
