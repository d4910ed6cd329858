"""TransposeConv in plain C: each output gathers the taps that meet it, so nothing is summed in memory."""

from __future__ import annotations

from dataclasses import dataclass

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
from tinydeploy.kernels.requantize import Requantize, fold, is_supported
from tinydeploy.kernels.windowed import weights_of
from tinydeploy.ops import OPS, AnySite
from tinydeploy.ops.quantized import quant_of
from tinydeploy.ops.transpose_conv import TransposeConv

INSTRUCTIONS_PER_MAC = 6
INSTRUCTIONS_PER_OUTPUT = 40


@dataclass(frozen=True, slots=True)
class TransposeConvParams(Params):
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
    requantize: Requantize


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    attrs: TransposeConv = site.attrs
    weights = weights_of(site)
    folded = fold(site, channel_axis=0, partial=True)
    _, height, width, channels = site.input(0).shape
    params = TransposeConvParams(
        height_in=height,
        width_in=width,
        channels_in=channels,
        height_out=attrs.size[0],
        width_out=attrs.size[1],
        channels_out=weights.shape[0],
        taps_y=weights.shape[1],
        taps_x=weights.shape[2],
        stride_y=attrs.stride[0],
        stride_x=attrs.stride[1],
        before_y=attrs.before[0],
        before_x=attrs.before[1],
        requantize=folded.params,
    )
    output = site.outputs[0]
    macs = OPS["TransposeConv"].macs(site)
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"TransposeConv, {shape_text(site.input(0).shape)} -> {shape_text(output.shape)}",
        band=1,
        flat=True,
        operands=(0,),
        accesses=(whole_access(site, 0),),
        result=whole_result(site),
        constants=(constant("weights", CType.INT8, Kind.WEIGHTS, weights.reshape(-1)), *folded.constants),
        scalars=(Scalar("input_zero_point", quant_of(site.input(0)).zero_point), *folded.scalars),
        scratch_bytes=0,
        cost_instructions=macs * INSTRUCTIONS_PER_MAC + output.elements * INSTRUCTIONS_PER_OUTPUT,
    )


SCHEDULE = Schedule(
    name="transpose_conv/scalar",
    op=TransposeConv,
    doc="plain C; each output gathers its taps",
    applies=lambda site, _target: is_supported(site),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
)
