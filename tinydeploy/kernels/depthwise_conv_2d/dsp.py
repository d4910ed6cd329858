"""DepthwiseConv2D with SMLABB and SMLATT: four channels at a time from one word of each pixel."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array
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
from tinydeploy.kernels.targets import Feature, Target
from tinydeploy.kernels.windowed import weights_of, windowed_kernel
from tinydeploy.ops import AnySite
from tinydeploy.ops.convolution import windows
from tinydeploy.ops.depthwise_conv_2d import DepthwiseConv2D, multiplier_of

INSTRUCTIONS_PER_MAC = 2.6
INSTRUCTIONS_PER_OUTPUT = 16


@dataclass(frozen=True, slots=True)
class DepthwiseDspParams(Params):
    width_in: int
    channels: int
    taps_y: int
    taps_x: int
    stride_x: int
    dilation_y: int
    dilation_x: int
    before_x: int
    columns: tuple[Columns, ...]
    requantize: Requantize


def _applies(site: AnySite, target: Target) -> bool:
    channels = site.input(0).shape[3]
    return target.has(Feature.DSP) and is_supported(site) and multiplier_of(site) == 1 and channels % 4 == 0


def pack(weights: Array) -> Array:
    """[K_h, K_w, C] to int16 in groups of four channels: per tap channels 0, 2, 1, 3 of the group."""
    height, width, channels = weights.shape
    groups = weights.reshape(height * width, channels // 4, 4).transpose(1, 0, 2)
    return np.ascontiguousarray(groups[:, :, [0, 2, 1, 3]]).reshape(-1).astype(np.int16)


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    vertical, horizontal = windows(site)
    _, _, width, channels = site.input(0).shape
    weights = weights_of(site)
    folded = fold(site, channel_axis=3)
    params = DepthwiseDspParams(
        width_in=width,
        channels=channels,
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
    taps = vertical.size * horizontal.size
    cost = site.outputs[0].elements * (taps * INSTRUCTIONS_PER_MAC + INSTRUCTIONS_PER_OUTPUT)
    packed = constant("weights", CType.INT16, Kind.WEIGHTS, pack(weights[0]))
    return windowed_kernel(site, SCHEDULE.name, params, packed, folded, cost=cost, borders=borders)


SCHEDULE = Schedule(
    name="depthwise_conv_2d/dsp",
    op=DepthwiseConv2D,
    doc="SMLABB and SMLATT on four channels; weights widened to 16 bits",
    applies=_applies,
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=("td_fixed_point.h", "td_rows.h", "td_dsp.h"),
)
