"""MaxPool2D in plain C: one output row a call; looks only at the taps inside the image."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Schedule
from tinydeploy.kernels.image import image_access, image_result, shape_text, spans, steps_ctype, window_text
from tinydeploy.ops import AnySite
from tinydeploy.ops.max_pool_2d import MaxPool2D
from tinydeploy.ops.pooling import windows
from tinydeploy.ops.quantized import activation_limits, is_activation

INSTRUCTIONS_PER_TAP = 4
INSTRUCTIONS_PER_OUTPUT = 10


@dataclass(frozen=True, slots=True)
class PoolParams(Params):
    """``clips_rows``: some output row's window leaves the image above or below."""

    height_in: int
    width_in: int
    channels: int
    taps_y: int
    taps_x: int
    stride_y: int
    stride_x: int
    before_y: int
    before_x: int
    clips_rows: bool
    clamps: bool
    low: int
    high: int
    spans: tuple[tuple[int, int, bool], ...]
    dilation_x: int = 1
    ctype: str = "int8_t"
    lowest: int = -128


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    vertical, horizontal = windows(site.attrs)
    _, height, width, channels = site.input(0).shape
    rows = site.outputs[0].shape[1]
    access = image_access(site, vertical)
    low, high = activation_limits(site.attrs.activation, site.outputs[0])
    params = PoolParams(
        height_in=height,
        width_in=width,
        channels=channels,
        taps_y=vertical.size,
        taps_x=horizontal.size,
        stride_y=vertical.stride,
        stride_x=horizontal.stride,
        before_y=vertical.before,
        before_x=horizontal.before,
        clips_rows=access.pads(rows, 1),
        clamps=(low, high) != site.outputs[0].dtype.limits,
        low=low,
        high=high,
        spans=spans(horizontal, width, site.outputs[0].shape[2]),
        ctype=steps_ctype(site.outputs[0]),
        lowest=site.outputs[0].dtype.limits[0],
    )
    taps = vertical.size * horizontal.size
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"MaxPool2D {window_text(vertical, horizontal)}, {shape_text(site)}",
        band=1,
        flat=False,
        operands=(0,),
        accesses=(access,),
        result=image_result(site),
        constants=(),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=site.outputs[0].elements * (taps * INSTRUCTIONS_PER_TAP + INSTRUCTIONS_PER_OUTPUT),
        takes_row=params.clips_rows,
    )


SCHEDULE = Schedule(
    name="max_pool_2d/scalar",
    op=MaxPool2D,
    doc="plain C; one comparison per tap",
    applies=lambda site, _target: is_activation(site.outputs[0]),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
)
