"""Conv2D in plain C: any kernel, stride, dilation and padding, one output pixel and channel at a time."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.kernels.base import (
    Banded,
    Constant,
    CType,
    Kernel,
    Kind,
    Knobs,
    Params,
    Schedule,
    constant,
)
from tinydeploy.kernels.image import Columns, columns
from tinydeploy.kernels.requantize import Requantize, fold, is_supported
from tinydeploy.kernels.targets import Target
from tinydeploy.kernels.windowed import weights_of, windowed_kernel
from tinydeploy.ops import AnySite
from tinydeploy.ops.conv_2d import Conv2D
from tinydeploy.ops.convolution import windows

INSTRUCTIONS_PER_MAC = 4
INSTRUCTIONS_PER_OUTPUT = 25


@dataclass(frozen=True, slots=True)
class ConvParams(Params):
    width_in: int
    channels_in: int
    channels_out: int
    taps_y: int
    taps_x: int
    stride_x: int
    dilation_y: int
    dilation_x: int
    before_x: int
    columns: tuple[Columns, ...]
    requantize: Requantize


def is_flat(site: AnySite) -> bool:
    """A 1x1 convolution of stride 1 sees no rows, only pixels."""
    vertical, horizontal = windows(site)
    return all(
        (window.size, window.stride, window.before, window.after) == (1, 1, 0, 0)
        for window in (vertical, horizontal)
    )


def bands(site: AnySite, _target: Target) -> tuple[Knobs, ...]:
    """Flat: all rows at once, or one for streaming. Otherwise one row a call."""
    rows = site.outputs[0].shape[1]
    return (Banded(rows), Banded(1)) if is_flat(site) and rows > 1 else (Banded(1),)


def make(site: AnySite, knobs: Knobs) -> Kernel:
    band = knobs.band if isinstance(knobs, Banded) else 1
    vertical, horizontal = windows(site)
    _, _, width, channels_in = site.input(0).shape
    _, _, width_out, channels_out = site.outputs[0].shape
    flat = is_flat(site)
    pixels = band * width_out
    weights = weights_of(site)
    folded = fold(site, channel_axis=0)
    params = ConvParams(
        width_in=width,
        channels_in=channels_in,
        channels_out=channels_out,
        taps_y=vertical.size,
        taps_x=horizontal.size,
        stride_x=horizontal.stride,
        dilation_y=vertical.dilation,
        dilation_x=horizontal.dilation,
        before_x=horizontal.before,
        columns=(Columns(0, pixels, pixels, pixels, border=False),)
        if flat
        else columns(horizontal, width, width_out),
        requantize=folded.params,
    )
    borders = any(part.border for part in params.columns)
    packed: Constant = constant("weights", CType.INT8, Kind.WEIGHTS, weights.reshape(-1))
    outputs = site.outputs[0].elements
    cost = outputs * (weights[0].size * INSTRUCTIONS_PER_MAC + INSTRUCTIONS_PER_OUTPUT)
    return windowed_kernel(
        site, SCHEDULE.name, params, packed, folded, cost=cost, borders=borders, band=band, flat=flat
    )


SCHEDULE = Schedule(
    name="conv_2d/scalar",
    op=Conv2D,
    doc="plain C; reads each weight once per output pixel",
    applies=lambda site, _target: is_supported(site),
    knobs=bands,
    make=make,
)
