"""1x1 convolution with SMLAD: two pixels, widened once to 16 bits, against two channels at a time."""

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
from tinydeploy.kernels.conv_2d.scalar import bands, is_flat
from tinydeploy.kernels.dsp import interleave, words_of
from tinydeploy.kernels.requantize import Requantize, fold, is_supported
from tinydeploy.kernels.targets import Feature, Target
from tinydeploy.kernels.windowed import weights_of, windowed_kernel
from tinydeploy.ops import AnySite
from tinydeploy.ops.conv_2d import Conv2D
from tinydeploy.ops.convolution import windows

GROUP = 2
"""Channels whose weights are read together."""

INSTRUCTIONS_PER_MAC = 1.3
INSTRUCTIONS_PER_OUTPUT = 14


@dataclass(frozen=True, slots=True)
class PointwiseParams(Params):
    """``step`` is the distance in bytes between input pixels that are read, ``words`` those of one pixel."""

    pixels: int
    step: int
    channels_in: int
    channels_out: int
    words: int
    requantize: Requantize


def _applies(site: AnySite, target: Target) -> bool:
    vertical, horizontal = windows(site)
    one_tap = all(w.size == 1 and w.before == 0 and w.after == 0 for w in (vertical, horizontal))
    return target.has(Feature.DSP) and one_tap and is_supported(site)


def _make(site: AnySite, knobs: Knobs) -> Kernel:
    band = knobs.band if isinstance(knobs, Banded) else 1
    _, horizontal = windows(site)
    channels_in = site.input(0).shape[3]
    width, channels_out = site.outputs[0].shape[2:]
    weights = weights_of(site)
    folded = fold(site, channel_axis=0)
    packed = interleave(weights.reshape(channels_out, channels_in), GROUP)
    outputs = site.outputs[0].elements
    params = PointwiseParams(
        pixels=band * width,
        step=horizontal.stride * channels_in,
        channels_in=channels_in,
        channels_out=channels_out,
        words=words_of(channels_in),
        requantize=folded.params,
    )
    return windowed_kernel(
        site,
        SCHEDULE.name,
        params,
        constant("weights", CType.INT8, Kind.WEIGHTS, packed),
        folded,
        cost=outputs * (channels_in * INSTRUCTIONS_PER_MAC + INSTRUCTIONS_PER_OUTPUT),
        borders=False,
        band=band,
        flat=is_flat(site),
        scratch_bytes=2 * 2 * 4 * words_of(channels_in),
    )


SCHEDULE = Schedule(
    name="conv_2d/pointwise_dsp",
    op=Conv2D,
    doc="1x1 convolution with SMLAD; scratch for two widened pixels",
    applies=_applies,
    knobs=bands,
    make=_make,
    headers=("td_fixed_point.h", "td_rows.h", "td_dsp.h"),
)
