"""Convolutions of float32 in plain C: blocks of two pixels by four channels, weights read where they lie."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Schedule
from tinydeploy.kernels.conv_2d.scalar import is_flat
from tinydeploy.kernels.float_operands import BLOCK, Clamp, clamp_of, weights_and_bias
from tinydeploy.kernels.float_rows import image_rows
from tinydeploy.kernels.image import Columns, columns, shape_text, window_text
from tinydeploy.kernels.targets import Target
from tinydeploy.ops import AnySite
from tinydeploy.ops.base import is_float
from tinydeploy.ops.conv_2d import Conv2D
from tinydeploy.ops.convolution import windows
from tinydeploy.ops.grouped_conv_2d import GroupedConv2D

INSTRUCTIONS_PER_MAC = 3
INSTRUCTIONS_PER_OUTPUT = 12


@dataclass(frozen=True, slots=True)
class FloatConvParams(Params):
    """``depth`` input and ``each`` output channels per group; ``block`` of them are computed side by side.

    ``images`` is None for a kernel of one band of rows, else the batch that one call computes.
    """

    images: int | None
    height_in: int
    width_in: int
    channels_in: int
    height_out: int
    width_out: int
    channels_out: int
    groups: int
    depth: int
    each: int
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


def _knobs(site: AnySite, _target: Target) -> tuple[Knobs, ...]:
    batch, rows, _, _ = site.outputs[0].shape
    if is_flat(site):
        return (Banded(batch * rows), Banded(1)) if batch * rows > 1 else (Banded(1),)
    return (Banded(1),)


def _make(site: AnySite, knobs: Knobs) -> Kernel:
    band = knobs.band if isinstance(knobs, Banded) else 1
    vertical, horizontal = windows(site)
    batch, height, width, channels_in = site.input(0).shape
    _, height_out, width_out, channels_out = site.outputs[0].shape
    depth = site.input(1).shape[3]
    groups = channels_in // depth
    each = channels_out // groups
    flat = is_flat(site)
    pixels = band * width_out
    rows = image_rows(site, vertical, flat=flat)
    weights, accesses = weights_and_bias(site)
    params = FloatConvParams(
        images=batch if rows.whole else None,
        height_in=height,
        width_in=width,
        channels_in=channels_in,
        height_out=height_out,
        width_out=width_out,
        channels_out=channels_out,
        groups=groups,
        depth=depth,
        each=each,
        block=min(BLOCK, each),
        taps_y=vertical.size,
        taps_x=horizontal.size,
        stride_y=vertical.stride,
        stride_x=horizontal.stride,
        dilation_y=vertical.dilation,
        dilation_x=horizontal.dilation,
        before_y=vertical.before,
        before_x=horizontal.before,
        columns=(Columns(0, pixels, pixels, pixels, border=False),)
        if flat
        else columns(horizontal, width, width_out),
        bias=site.has(2),
        clamp=clamp_of(site.attrs.activation),
        weights_at=1 if flat or rows.whole else rows.access.pointers(band),
    )
    outputs = site.outputs[0].elements
    macs = vertical.size * horizontal.size * depth
    op = type(site.attrs).__name__
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"{op} {window_text(vertical, horizontal)} of float, {shape_text(site)}",
        band=band,
        flat=flat,
        operands=(0, *weights),
        accesses=(rows.access, *accesses),
        result=rows.result,
        constants=(),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=outputs * (macs * INSTRUCTIONS_PER_MAC + INSTRUCTIONS_PER_OUTPUT),
    )


SCHEDULE = Schedule(
    name="conv_2d/float",
    op=(Conv2D, GroupedConv2D),
    doc="float32 in plain C; loads each element once for a block of outputs",
    applies=lambda site, _target: is_float(site),
    knobs=_knobs,
    make=_make,
    headers=("td_rows.h",),
)
