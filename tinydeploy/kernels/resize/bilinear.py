"""Bilinear Resize in plain C: places and weights of rows and columns from tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import DType
from tinydeploy.kernels.base import Banded, CType, Instance, Kernel, Kind, Knobs, Params, Schedule, constant
from tinydeploy.kernels.nest import shape_text, whole_access, whole_result
from tinydeploy.ops import AnySite
from tinydeploy.ops.resize import Method, Resize, bilinear, real_bilinear

INSTRUCTIONS_PER_OUTPUT = 25


@dataclass(frozen=True, slots=True)
class BilinearParams(Params):
    """``image`` is the number of elements of an input image; float32 ones have float weights."""

    batch: int
    image: int
    height_out: int
    width_out: int
    channels: int
    is_float: bool


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    batch, height, width, channels = site.input(0).shape
    output = site.outputs[0]
    is_float = output.dtype is DType.FLOAT32
    constants = []
    axes = (
        ("row", height, output.shape[1], width * channels),
        ("column", width, output.shape[2], channels),
    )
    for role, source, target, stride in axes:
        if is_float:
            lower, upper, weight = real_bilinear(site.attrs, source, target)
        else:
            position = bilinear(site.attrs, source, target)
            lower, upper, weight = position.lower, position.upper, position.weight
        places = np.stack([lower, upper], axis=1).reshape(-1) * stride
        ctype = CType.FLOAT32 if is_float else CType.INT16
        constants.append(constant(f"{role}_places", CType.INT32, Kind.TABLE, places))
        constants.append(constant(f"{role}_weights", ctype, Kind.TABLE, weight))
    image = height * width * channels
    params = BilinearParams(batch, image, output.shape[1], output.shape[2], channels, is_float)
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"Resize, {shape_text(site.input(0).shape)} -> {shape_text(output.shape)}",
        band=1,
        flat=True,
        operands=(0,),
        accesses=(whole_access(site, 0),),
        result=whole_result(site),
        constants=tuple(constants),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=output.elements * INSTRUCTIONS_PER_OUTPUT,
    )


SCHEDULE = Schedule(
    name="resize/bilinear",
    op=Resize,
    doc="plain C; four products per element",
    applies=lambda site, _target: site.attrs.method is Method.BILINEAR,
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
)
