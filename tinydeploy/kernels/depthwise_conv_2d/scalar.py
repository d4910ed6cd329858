"""DepthwiseConv2D in plain C: any multiplier, kernel, stride, dilation and padding."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.kernels.base import (
    Banded,
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
from tinydeploy.kernels.windowed import weights_of, windowed_kernel
from tinydeploy.ops import AnySite
from tinydeploy.ops.convolution import windows
from tinydeploy.ops.depthwise_conv_2d import DepthwiseConv2D, multiplier_of

INSTRUCTIONS_PER_MAC = 6
INSTRUCTIONS_PER_OUTPUT = 30


@dataclass(frozen=True, slots=True)
class DepthwiseParams(Params):
    width_in: int
    channels_in: int
    multiplier: int
    taps_y: int
    taps_x: int
    stride_x: int
    dilation_y: int
    dilation_x: int
    before_x: int
    columns: tuple[Columns, ...]
    requantize: Requantize


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    vertical, horizontal = windows(site)
    _, _, width, channels_in = site.input(0).shape
    weights = weights_of(site)
    folded = fold(site, channel_axis=3)
    params = DepthwiseParams(
        width_in=width,
        channels_in=channels_in,
        multiplier=multiplier_of(site),
        taps_y=vertical.size,
        taps_x=horizontal.size,
        stride_x=horizontal.stride,
        dilation_y=vertical.dilation,
        dilation_x=horizontal.dilation,
        before_x=horizontal.before,
        columns=columns(horizontal, width, site.outputs[0].shape[2]),
        requantize=folded.params,
    )
    borders = any(part.border for part in params.columns)
    by_channel = weights[0].transpose(2, 0, 1).reshape(-1)
    taps = vertical.size * horizontal.size
    packed = constant("weights", CType.INT8, Kind.WEIGHTS, by_channel)
    cost = site.outputs[0].elements * (taps * INSTRUCTIONS_PER_MAC + INSTRUCTIONS_PER_OUTPUT)
    return windowed_kernel(site, SCHEDULE.name, params, packed, folded, cost=cost, borders=borders)


SCHEDULE = Schedule(
    name="depthwise_conv_2d/scalar",
    op=DepthwiseConv2D,
    doc="plain C; the weights of a channel lie together",
    applies=lambda site, _target: is_supported(site),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
)
