"""Convolution with SMLAD: the window of one or two output pixels is copied together, then multiplied."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tinydeploy.kernels.base import (
    CType,
    Kernel,
    Kind,
    Knobs,
    Params,
    Schedule,
    constant,
)
from tinydeploy.kernels.dsp import interleave, words_of
from tinydeploy.kernels.image import spans
from tinydeploy.kernels.requantize import Requantize, fold, is_supported
from tinydeploy.kernels.targets import Feature, Target
from tinydeploy.kernels.windowed import weights_of, windowed_kernel
from tinydeploy.ops import AnySite
from tinydeploy.ops.conv_2d import Conv2D
from tinydeploy.ops.convolution import windows

INSTRUCTIONS_PER_MAC = {1: 1.6, 2: 1.4}
INSTRUCTIONS_PER_OUTPUT = 14
INSTRUCTIONS_PER_COPY = 2

DEFAULT_SCRATCH_BYTES = 2048
"""Above this size the default is one pixel at a time, which needs half."""


@dataclass(frozen=True, slots=True)
class Tile(Knobs):
    """Output pixels at a time: two share each weight, one needs half the scratch and takes four channels."""

    pixels: int

    @property
    def channels(self) -> int:
        """Output channels at a time: what the registers hold beside the pixels."""
        return 4 // self.pixels


@dataclass(frozen=True, slots=True)
class Im2colParams(Params):
    """Windows of output columns [first_inside, end_inside) lie wholly inside the row and are contiguous."""

    pixels: int
    group: int
    width_in: int
    width_out: int
    channels_in: int
    channels_out: int
    taps_y: int
    taps_x: int
    stride_x: int
    dilation_y: int
    dilation_x: int
    before_x: int
    depth: int
    words: int
    borders: bool
    first_inside: int
    end_inside: int
    requantize: Requantize


def _depth(site: AnySite) -> int:
    return math.prod(site.input(1).shape[1:])


def _scratch_bytes(site: AnySite, pixels: int) -> int:
    return pixels * 4 * words_of(_depth(site))


def _knobs(site: AnySite, _target: Target) -> tuple[Knobs, ...]:
    one, two = Tile(1), Tile(2)
    if site.outputs[0].shape[2] < 2:
        return (one,)
    fits = _scratch_bytes(site, two.pixels) <= DEFAULT_SCRATCH_BYTES
    return (two, one) if fits else (one, two)


def _make(site: AnySite, knobs: Knobs) -> Kernel:
    tile = knobs if isinstance(knobs, Tile) else Tile(1)
    vertical, horizontal = windows(site)
    _, _, width, channels_in = site.input(0).shape
    _, rows, width_out, channels_out = site.outputs[0].shape
    weights = weights_of(site)
    depth = _depth(site)
    folded = fold(site, channel_axis=0)
    inside = [span for span in spans(horizontal, width, width_out) if not span[2]]
    first, end = inside[0][:2] if inside else (0, 0)
    if horizontal.dilation != 1:
        first, end = 0, 0
    borders = (first, end) != (0, width_out)
    params = Im2colParams(
        pixels=tile.pixels,
        group=tile.channels,
        width_in=width,
        width_out=width_out,
        channels_in=channels_in,
        channels_out=channels_out,
        taps_y=vertical.size,
        taps_x=horizontal.size,
        stride_x=horizontal.stride,
        dilation_y=vertical.dilation,
        dilation_x=horizontal.dilation,
        before_x=horizontal.before,
        depth=depth,
        words=words_of(depth),
        borders=borders,
        first_inside=first,
        end_inside=end,
        requantize=folded.params,
    )
    packed = interleave(weights.reshape(channels_out, depth), tile.channels)
    outputs = site.outputs[0].elements
    cost = outputs * (depth * INSTRUCTIONS_PER_MAC[tile.pixels] + INSTRUCTIONS_PER_OUTPUT)
    copies = rows * width_out * depth * INSTRUCTIONS_PER_COPY
    return windowed_kernel(
        site,
        SCHEDULE.name,
        params,
        constant("weights", CType.INT8, Kind.WEIGHTS, packed),
        folded,
        cost=cost + copies,
        borders=borders,
        scratch_bytes=_scratch_bytes(site, tile.pixels),
    )


SCHEDULE = Schedule(
    name="conv_2d/im2col_dsp",
    op=Conv2D,
    doc="SMLAD over copied windows; scratch for one or two windows",
    applies=lambda site, target: target.has(Feature.DSP) and is_supported(site),
    knobs=_knobs,
    make=_make,
    headers=("td_fixed_point.h", "td_rows.h", "td_dsp.h"),
)
