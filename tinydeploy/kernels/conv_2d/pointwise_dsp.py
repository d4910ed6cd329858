"""1x1 convolution with SMLAD: two pixels, widened once to 16 bits, against two channels at a time."""

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
    Schedule,
    constant,
)
from tinydeploy.kernels.conv_2d.scalar import bands, is_flat
from tinydeploy.kernels.dsp import interleave, words_of
from tinydeploy.kernels.image import image_access, image_result, shape_text, window_text
from tinydeploy.kernels.requantize import Requantize, fold, is_supported
from tinydeploy.kernels.targets import Feature, Target
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
    vertical, horizontal = windows(site)
    channels_in = site.input(0).shape[3]
    width, channels_out = site.outputs[0].shape[2:]
    weights = site.constant(1)
    if weights is None:
        raise ValueError(f"{site.name}: weights are not constant")
    folded = fold(site, channel_axis=0)
    packed = interleave(weights.reshape(channels_out, channels_in), GROUP)
    outputs = site.outputs[0].elements
    return Kernel(
        instance=Instance(
            SCHEDULE.name,
            PointwiseParams(
                pixels=band * width,
                step=horizontal.stride * channels_in,
                channels_in=channels_in,
                channels_out=channels_out,
                words=words_of(channels_in),
                requantize=folded.params,
            ),
        ),
        title=f"Conv2D {window_text(vertical, horizontal)}, {shape_text(site)}",
        band=band,
        flat=is_flat(site),
        operands=(0,),
        accesses=(image_access(site, vertical),),
        result=image_result(site),
        constants=(constant("weights", CType.INT8, Kind.WEIGHTS, packed), *folded.constants),
        scalars=folded.scalars,
        scratch_bytes=2 * 2 * 4 * words_of(channels_in),
        cost_instructions=int(outputs * (channels_in * INSTRUCTIONS_PER_MAC + INSTRUCTIONS_PER_OUTPUT)),
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
