"""MaxPoolIndices of plain numbers in plain C: the whole batch in one call, two results."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Result, Schedule
from tinydeploy.kernels.image import shape_text, window_text
from tinydeploy.kernels.nest import whole_access, whole_result
from tinydeploy.kernels.pool.plain import ELEMENTS, INSTRUCTIONS_PER_OUTPUT, INSTRUCTIONS_PER_TAP
from tinydeploy.ops import AnySite
from tinydeploy.ops.base import is_plain
from tinydeploy.ops.max_pool_indices import MaxPoolIndices, places
from tinydeploy.ops.pooling import windows


@dataclass(frozen=True, slots=True)
class MaxPoolIndicesParams(Params):
    """``image``, ``row``, ``column`` and ``channel`` are what the index grows by."""

    element: str
    images: int
    height_in: int
    width_in: int
    height_out: int
    width_out: int
    channels: int
    taps_y: int
    taps_x: int
    stride_y: int
    stride_x: int
    dilation_y: int
    dilation_x: int
    before_y: int
    before_x: int
    image: int
    row: int
    column: int
    channel: int


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    vertical, horizontal = windows(site.attrs)
    images, height, width, channels = site.input(0).shape
    output = site.outputs[0]
    image, row, column, channel = places(site)
    params = MaxPoolIndicesParams(
        element=ELEMENTS[site.input(0).dtype],
        images=images,
        height_in=height,
        width_in=width,
        height_out=output.shape[1],
        width_out=output.shape[2],
        channels=channels,
        taps_y=vertical.size,
        taps_x=horizontal.size,
        stride_y=vertical.stride,
        stride_x=horizontal.stride,
        dilation_y=vertical.dilation,
        dilation_x=horizontal.dilation,
        before_y=vertical.before,
        before_x=horizontal.before,
        image=image,
        row=row,
        column=column,
        channel=channel,
    )
    taps = vertical.size * horizontal.size
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"MaxPoolIndices {window_text(vertical, horizontal)}, {shape_text(site)}",
        band=1,
        flat=True,
        operands=(0,),
        accesses=(whole_access(site, 0),),
        result=whole_result(site),
        constants=(),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=output.elements * (taps * INSTRUCTIONS_PER_TAP + INSTRUCTIONS_PER_OUTPUT),
        more=(Result(1, site.outputs[1].bytes),),
    )


SCHEDULE = Schedule(
    name="max_pool_indices/plain",
    op=MaxPoolIndices,
    doc="plain numbers in plain C; the first of equal elements wins",
    applies=lambda site, _target: is_plain(site),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=("td_rows.h",),
)
