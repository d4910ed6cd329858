"""TransposeConv of any integer steps in plain C: each output gathers the taps that meet it."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Schedule
from tinydeploy.kernels.general.numbers import (
    HEADERS,
    INSTRUCTIONS_PER_MAC,
    INSTRUCTIONS_PER_OUTPUT,
    Numbers,
    is_general,
    operands_of,
)
from tinydeploy.kernels.nest import shape_text, whole_access, whole_result
from tinydeploy.ops import OPS, AnySite
from tinydeploy.ops.transpose_conv import TransposeConv


@dataclass(frozen=True, slots=True)
class GeneralTransposeParams(Params):
    """As the schedule for int8, with the kinds of numbers."""

    height_in: int
    width_in: int
    channels_in: int
    height_out: int
    width_out: int
    channels_out: int
    taps_y: int
    taps_x: int
    stride_y: int
    stride_x: int
    before_y: int
    before_x: int
    numbers: Numbers


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    attrs: TransposeConv = site.attrs
    operands = operands_of(site, channel_axis=0)
    _, height, width, channels = site.input(0).shape
    filters, taps_y, taps_x, _ = site.input(1).shape
    output = site.outputs[0]
    params = GeneralTransposeParams(
        height_in=height,
        width_in=width,
        channels_in=channels,
        height_out=attrs.size[0],
        width_out=attrs.size[1],
        channels_out=filters,
        taps_y=taps_y,
        taps_x=taps_x,
        stride_y=attrs.stride[0],
        stride_x=attrs.stride[1],
        before_y=attrs.before[0],
        before_x=attrs.before[1],
        numbers=operands.params,
    )
    macs = OPS["TransposeConv"].macs(site)
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"TransposeConv, {shape_text(site.input(0).shape)} -> {shape_text(output.shape)}",
        band=1,
        flat=True,
        operands=(0,),
        accesses=(whole_access(site, 0),),
        result=whole_result(site),
        constants=operands.constants,
        scalars=operands.scalars,
        scratch_bytes=0,
        cost_instructions=macs * INSTRUCTIONS_PER_MAC + output.elements * INSTRUCTIONS_PER_OUTPUT,
    )


SCHEDULE = Schedule(
    name="general/transposed",
    op=TransposeConv,
    doc="plain C; int16 data, int4 weights, zero points of weights; each output gathers its taps",
    applies=lambda site, _target: is_general(site),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=HEADERS,
)
