"""Pools of plain numbers in plain C: means and norms of float32, maxima of any type."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.ir import DType
from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Schedule
from tinydeploy.kernels.float_operands import Clamp, clamp_of
from tinydeploy.kernels.float_rows import image_rows
from tinydeploy.kernels.image import Columns, columns, shape_text, window_text
from tinydeploy.ops import AnySite
from tinydeploy.ops.average_pool_2d import AveragePool2D
from tinydeploy.ops.base import is_plain
from tinydeploy.ops.lp_pool_2d import LpPool2D
from tinydeploy.ops.max_pool_2d import MaxPool2D
from tinydeploy.ops.pooling import windows

INSTRUCTIONS_PER_TAP = 4
INSTRUCTIONS_PER_OUTPUT = 20

ELEMENTS = {
    DType.INT8: "int8_t",
    DType.UINT8: "uint8_t",
    DType.INT16: "int16_t",
    DType.UINT16: "uint16_t",
    DType.INT32: "int32_t",
    DType.UINT32: "uint32_t",
    DType.INT64: "int64_t",
    DType.FLOAT32: "float",
}


@dataclass(frozen=True, slots=True)
class PlainPoolParams(Params):
    """``lowest`` is the least element of an integer type, ``order`` that of an LpPool, else 0.

    ``counted_*`` is where taps of a mean stop to count, or None
    where only those inside the image count.

    ``images`` is None for a kernel of one row a call, else the batch that one call computes.
    """

    kind: str
    element: str
    lowest: int | None
    order: int
    images: int | None
    height_in: int
    width_in: int
    height_out: int
    width_out: int
    channels_in: int
    taps_y: int
    taps_x: int
    stride_y: int
    stride_x: int
    dilation_y: int
    dilation_x: int
    before_y: int
    before_x: int
    counted_y: int | None
    counted_x: int | None
    clips_rows: bool
    columns: tuple[Columns, ...]
    clamp: Clamp


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    attrs, dtype = site.attrs, site.input(0).dtype
    vertical, horizontal = windows(attrs)
    batch, height, width, channels = site.input(0).shape
    _, height_out, width_out, _ = site.outputs[0].shape
    rows = image_rows(site, vertical, flat=False)
    clips = rows.whole or rows.access.pads(rows.result.rows, 1)
    counts = isinstance(attrs, AveragePool2D) and attrs.count_include_pad
    params = PlainPoolParams(
        kind=type(attrs).__name__,
        element=ELEMENTS[dtype],
        lowest=None if dtype is DType.FLOAT32 else dtype.limits[0],
        order=attrs.order if isinstance(attrs, LpPool2D) else 0,
        images=batch if rows.whole else None,
        height_in=height,
        width_in=width,
        height_out=height_out,
        width_out=width_out,
        channels_in=channels,
        taps_y=vertical.size,
        taps_x=horizontal.size,
        stride_y=vertical.stride,
        stride_x=horizontal.stride,
        dilation_y=vertical.dilation,
        dilation_x=horizontal.dilation,
        before_y=vertical.before,
        before_x=horizontal.before,
        counted_y=height + attrs.padding[0][1] if counts else None,
        counted_x=width + attrs.padding[1][1] if counts else None,
        clips_rows=clips,
        columns=columns(horizontal, width, width_out),
        clamp=clamp_of(attrs.activation),
    )
    taps = vertical.size * horizontal.size
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"{params.kind} {window_text(vertical, horizontal)} of {params.element}, {shape_text(site)}",
        band=1,
        flat=False,
        operands=(0,),
        accesses=(rows.access,),
        result=rows.result,
        constants=(),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=site.outputs[0].elements * (taps * INSTRUCTIONS_PER_TAP + INSTRUCTIONS_PER_OUTPUT),
        takes_row=clips and not rows.whole,
    )


SCHEDULE = Schedule(
    name="pool/plain",
    op=(AveragePool2D, MaxPool2D, LpPool2D),
    doc="plain numbers in plain C; only the taps inside the image",
    applies=lambda site, _target: is_plain(site),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=("td_rows.h", "td_math.h"),
)
