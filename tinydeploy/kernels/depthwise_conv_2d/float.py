"""Depthwise convolutions of float32 in plain C: blocks of four channels, weights read where they lie."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Schedule
from tinydeploy.kernels.float_operands import BLOCK, Clamp, clamp_of, weights_and_bias
from tinydeploy.kernels.float_rows import image_rows
from tinydeploy.kernels.image import Columns, columns, shape_text, window_text
from tinydeploy.ops import AnySite
from tinydeploy.ops.base import is_float
from tinydeploy.ops.convolution import windows
from tinydeploy.ops.depthwise_conv_2d import DepthwiseConv2D, multiplier_of

INSTRUCTIONS_PER_MAC = 4
INSTRUCTIONS_PER_OUTPUT = 12


@dataclass(frozen=True, slots=True)
class FloatDepthwiseParams(Params):
    """A block is of channels where each has one output, else of the outputs of one channel.

    ``images`` is None for a kernel of one row a call, else the batch that one call computes.
    """

    images: int | None
    height_in: int
    width_in: int
    channels_in: int
    height_out: int
    width_out: int
    multiplier: int
    block: int
    taps_y: int
    taps_x: int
    stride_y: int
    stride_x: int
    dilation_y: int
    dilation_x: int
    before_y: int
    before_x: int
    columns: tuple[Columns, ...]
    bias: bool
    clamp: Clamp
    weights_at: int


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    vertical, horizontal = windows(site)
    batch, height, width, channels = site.input(0).shape
    _, height_out, width_out, _ = site.outputs[0].shape
    multiplier = multiplier_of(site)
    rows = image_rows(site, vertical, flat=False)
    weights, accesses = weights_and_bias(site)
    params = FloatDepthwiseParams(
        images=batch if rows.whole else None,
        height_in=height,
        width_in=width,
        channels_in=channels,
        height_out=height_out,
        width_out=width_out,
        multiplier=multiplier,
        block=min(BLOCK, channels if multiplier == 1 else multiplier),
        taps_y=vertical.size,
        taps_x=horizontal.size,
        stride_y=vertical.stride,
        stride_x=horizontal.stride,
        dilation_y=vertical.dilation,
        dilation_x=horizontal.dilation,
        before_y=vertical.before,
        before_x=horizontal.before,
        columns=columns(horizontal, width, width_out),
        bias=site.has(2),
        clamp=clamp_of(site.attrs.activation),
        weights_at=1 if rows.whole else rows.access.pointers(1),
    )
    taps = vertical.size * horizontal.size
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"DepthwiseConv2D {window_text(vertical, horizontal)} of float, {shape_text(site)}",
        band=1,
        flat=False,
        operands=(0, *weights),
        accesses=(rows.access, *accesses),
        result=rows.result,
        constants=(),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=site.outputs[0].elements * (taps * INSTRUCTIONS_PER_MAC + INSTRUCTIONS_PER_OUTPUT),
    )


SCHEDULE = Schedule(
    name="depthwise_conv_2d/float",
    op=DepthwiseConv2D,
    doc="float32 in plain C; a block of channels side by side",
    applies=lambda site, _target: is_float(site),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=("td_rows.h",),
)
