"""Convolutions and dense layers of any integer steps in plain C: one output at a time."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.kernels.base import Access, Banded, Instance, Kernel, Knobs, Params, Result, Schedule
from tinydeploy.kernels.general.numbers import (
    HEADERS,
    INSTRUCTIONS_PER_MAC,
    INSTRUCTIONS_PER_OUTPUT,
    Numbers,
    is_general,
    operands_of,
)
from tinydeploy.kernels.image import shape_text, window_text
from tinydeploy.ops import OPS, AnySite
from tinydeploy.ops.conv_2d import Conv2D
from tinydeploy.ops.convolution import windows
from tinydeploy.ops.depthwise_conv_2d import DepthwiseConv2D
from tinydeploy.ops.fully_connected import FullyConnected, rows_of
from tinydeploy.ops.grouped_conv_2d import GroupedConv2D
from tinydeploy.ops.window import Window

ONE_TAP = Window(1, 1, 1, 0, 0)


@dataclass(frozen=True, slots=True)
class GeneralParams(Params):
    """Output channel c reads ``depth`` input channels from ``c / each * depth`` on.

    ``channel_step`` and ``tap_step`` are distances in the weights. ``clips_rows``: some window leaves the
    image above or below.
    """

    height_in: int
    width_in: int
    width_out: int
    channels_in: int
    channels_out: int
    depth: int
    each: int
    channel_step: int
    tap_step: int
    taps_y: int
    taps_x: int
    stride_y: int
    stride_x: int
    dilation_y: int
    dilation_x: int
    before_y: int
    before_x: int
    clips_rows: bool
    clips_columns: bool
    numbers: Numbers


def _dense(site: AnySite) -> Kernel:
    outputs, inputs = site.input(1).shape
    rows = rows_of(site)
    return _kernel(
        site,
        (ONE_TAP, ONE_TAP),
        Access(rows, site.input(0).bytes // rows),
        Result(rows, site.outputs[0].bytes // rows),
        f"FullyConnected, {rows}x{inputs} -> {rows}x{outputs}",
        extents=(rows, 1, inputs, 1, outputs),
    )


def _image(site: AnySite) -> Kernel:
    vertical, horizontal = windows(site)
    _, height, width, channels_in = site.input(0).shape
    _, rows, width_out, channels_out = site.outputs[0].shape
    return _kernel(
        site,
        (vertical, horizontal),
        Access(height, site.input(0).bytes // height, vertical.stride, vertical.extent, vertical.before),
        Result(rows, site.outputs[0].bytes // rows),
        f"{type(site.attrs).__name__} {window_text(vertical, horizontal)}, {shape_text(site)}",
        extents=(height, width, channels_in, width_out, channels_out),
    )


def _kernel(
    site: AnySite,
    window: tuple[Window, Window],
    access: Access,
    result: Result,
    title: str,
    *,
    extents: tuple[int, int, int, int, int],
) -> Kernel:
    vertical, horizontal = window
    height, width, channels_in, width_out, channels_out = extents
    depthwise = isinstance(site.attrs, DepthwiseConv2D)
    operands = operands_of(site, channel_axis=3 if depthwise else 0)
    depth = 1 if depthwise else site.input(1).shape[-1]
    taps = vertical.size * horizontal.size
    last = horizontal.start(width_out - 1) + horizontal.extent
    params = GeneralParams(
        height_in=height,
        width_in=width,
        width_out=width_out,
        channels_in=channels_in,
        channels_out=channels_out,
        depth=depth,
        each=channels_out // (channels_in // depth),
        channel_step=1 if depthwise else taps * depth,
        tap_step=channels_out if depthwise else depth,
        taps_y=vertical.size,
        taps_x=horizontal.size,
        stride_y=vertical.stride,
        stride_x=horizontal.stride,
        dilation_y=vertical.dilation,
        dilation_x=horizontal.dilation,
        before_y=vertical.before,
        before_x=horizontal.before,
        clips_rows=access.pads(result.rows, 1),
        clips_columns=horizontal.before > 0 or last > width,
        numbers=operands.params,
    )
    macs = OPS[type(site.attrs).__name__].macs(site)
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=title,
        band=1,
        flat=False,
        operands=(0,),
        accesses=(access,),
        result=result,
        constants=operands.constants,
        scalars=operands.scalars,
        scratch_bytes=0,
        cost_instructions=macs * INSTRUCTIONS_PER_MAC + site.outputs[0].elements * INSTRUCTIONS_PER_OUTPUT,
        takes_row=params.clips_rows,
    )


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    return _dense(site) if isinstance(site.attrs, FullyConnected) else _image(site)


SCHEDULE = Schedule(
    name="general/windowed",
    op=(Conv2D, DepthwiseConv2D, FullyConnected, GroupedConv2D),
    doc="plain C; int16 data, int4 weights, zero points of weights, one output at a time",
    applies=lambda site, _target: is_general(site),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=HEADERS,
)
