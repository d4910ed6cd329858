"""GroupedConv2D in plain C: any kernel, stride, dilation and padding, one output at a time."""

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
    Scalar,
    Schedule,
    constant,
)
from tinydeploy.kernels.image import image_access, image_result, shape_text, spans, window_text
from tinydeploy.kernels.requantize import Requantize, fold, is_supported
from tinydeploy.kernels.windowed import weights_of
from tinydeploy.ops import AnySite
from tinydeploy.ops.convolution import windows
from tinydeploy.ops.grouped_conv_2d import GroupedConv2D, groups_of
from tinydeploy.ops.quantized import quant_of

INSTRUCTIONS_PER_MAC = 5
INSTRUCTIONS_PER_OUTPUT = 30


@dataclass(frozen=True, slots=True)
class GroupedParams(Params):
    """``depth`` input and ``each`` output channels per group; ``spans`` as in Conv2D."""

    width_in: int
    groups: int
    depth: int
    each: int
    taps_y: int
    taps_x: int
    stride_x: int
    dilation_y: int
    dilation_x: int
    before_x: int
    spans: tuple[tuple[int, int, bool], ...]
    requantize: Requantize


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    vertical, horizontal = windows(site)
    width = site.input(0).shape[2]
    weights = weights_of(site)
    folded = fold(site, channel_axis=0)
    groups = groups_of(site)
    params = GroupedParams(
        width_in=width,
        groups=groups,
        depth=weights.shape[3],
        each=weights.shape[0] // groups,
        taps_y=vertical.size,
        taps_x=horizontal.size,
        stride_x=horizontal.stride,
        dilation_y=vertical.dilation,
        dilation_x=horizontal.dilation,
        before_x=horizontal.before,
        spans=spans(horizontal, width, site.outputs[0].shape[2]),
        requantize=folded.params,
    )
    borders = any(border for _, _, border in params.spans)
    zero_point = quant_of(site.input(0)).zero_point
    outputs = site.outputs[0].elements
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"GroupedConv2D {window_text(vertical, horizontal)} in {groups} groups, {shape_text(site)}",
        band=1,
        flat=False,
        operands=(0,),
        accesses=(image_access(site, vertical),),
        result=image_result(site),
        constants=(constant("weights", CType.INT8, Kind.WEIGHTS, weights.reshape(-1)), *folded.constants),
        scalars=(*((Scalar("input_zero_point", zero_point),) if borders else ()), *folded.scalars),
        scratch_bytes=0,
        cost_instructions=outputs * (weights[0].size * INSTRUCTIONS_PER_MAC + INSTRUCTIONS_PER_OUTPUT),
        pad_value=zero_point,
    )


SCHEDULE = Schedule(
    name="grouped_conv_2d/scalar",
    op=GroupedConv2D,
    doc="plain C; reads each weight once per output pixel",
    applies=lambda site, _target: is_supported(site),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
)
