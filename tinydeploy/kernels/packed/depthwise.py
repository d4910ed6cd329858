"""DepthwiseConv2D with packed weights in plain C: the window of a channel is gathered, then multiplied."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Schedule
from tinydeploy.kernels.image import image_access, image_result, shape_text, window_text
from tinydeploy.kernels.packed.grid import GROUP, on_grid, site_grid
from tinydeploy.kernels.requantize import Requantize, fold, is_int8_dot
from tinydeploy.ops import AnySite
from tinydeploy.ops.convolution import windows
from tinydeploy.ops.depthwise_conv_2d import DepthwiseConv2D, multiplier_of
from tinydeploy.ops.quantized import quant_of

INSTRUCTIONS_PER_MAC = 10
INSTRUCTIONS_PER_OUTPUT = 40


@dataclass(frozen=True, slots=True)
class PackedDepthwiseParams(Params):
    width_in: int
    width_out: int
    channels_in: int
    multiplier: int
    inputs: int
    group: int
    taps_y: int
    taps_x: int
    stride_x: int
    dilation_y: int
    dilation_x: int
    before_x: int
    zero_point: int
    requantize: Requantize


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    grid = site_grid(site, 3)
    if grid is None:
        raise ValueError(f"{site.name}: the weights are not on a grid of 4 bits")
    folded = fold(site, channel_axis=3)
    vertical, horizontal = windows(site)
    _, _, width, depth = site.input(0).shape
    taps, zero_point = vertical.size * horizontal.size, quant_of(site.input(0)).zero_point
    params = PackedDepthwiseParams(
        width_in=width,
        width_out=site.outputs[0].shape[2],
        channels_in=depth,
        multiplier=multiplier_of(site),
        inputs=taps,
        group=GROUP,
        taps_y=vertical.size,
        taps_x=horizontal.size,
        stride_x=horizontal.stride,
        dilation_y=vertical.dilation,
        dilation_x=horizontal.dilation,
        before_x=horizontal.before,
        zero_point=zero_point,
        requantize=folded.params,
    )
    cost = site.outputs[0].elements * (taps * INSTRUCTIONS_PER_MAC + INSTRUCTIONS_PER_OUTPUT)
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"DepthwiseConv2D {window_text(vertical, horizontal)}, weights of 4 bits, {shape_text(site)}",
        band=1,
        flat=False,
        operands=(0,),
        accesses=(image_access(site, vertical),),
        result=image_result(site),
        constants=(*grid.constants(), *folded.constants),
        scalars=folded.scalars,
        scratch_bytes=taps,
        cost_instructions=cost,
        pad_value=zero_point,
    )


SCHEDULE = Schedule(
    name="packed/depthwise",
    op=DepthwiseConv2D,
    doc="plain C; weights of 4 bits with a factor per channel",
    applies=lambda site, _target: is_int8_dot(site) and on_grid(site),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=("td_fixed_point.h", "td_int4.h", "td_rows.h"),
)
