"""RoiAlign in plain C: for each sample the four pixels around it, all channels together."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.ir import DType
from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Schedule
from tinydeploy.kernels.nest import shape_text, whole_access, whole_result
from tinydeploy.ops import AnySite
from tinydeploy.ops.roi_align import RoiAlign

INSTRUCTIONS_PER_SAMPLE = 80
INSTRUCTIONS_PER_CHANNEL = 20
USUAL_SAMPLES = 2


@dataclass(frozen=True, slots=True)
class RoiAlignParams(Params):
    """``samples`` is 0 where the regions decide."""

    batch: int
    height: int
    width: int
    channels: int
    regions: int
    bins_y: int
    bins_x: int
    samples: int
    scale: float
    half_pixel: bool
    maximum: bool
    index: str


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    image, regions, output, attrs = site.input(0), site.input(1), site.outputs[0], site.attrs
    batch, height, width, channels = image.shape
    params = RoiAlignParams(
        batch=batch,
        height=height,
        width=width,
        channels=channels,
        regions=regions.shape[0],
        bins_y=attrs.size[0],
        bins_x=attrs.size[1],
        samples=attrs.samples,
        scale=attrs.scale,
        half_pixel=attrs.half_pixel,
        maximum=attrs.maximum,
        index="int64" if site.input(2).dtype is DType.INT64 else "int32",
    )
    samples = (attrs.samples or USUAL_SAMPLES) ** 2 * output.elements // channels
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"RoiAlign, {params.regions} regions of {shape_text(image.shape)}",
        band=1,
        flat=True,
        operands=(0, 1, 2),
        accesses=tuple(whole_access(site, index) for index in range(3)),
        result=whole_result(site),
        constants=(),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=samples * (INSTRUCTIONS_PER_SAMPLE + channels * INSTRUCTIONS_PER_CHANNEL),
    )


SCHEDULE = Schedule(
    name="roi_align/scalar",
    op=RoiAlign,
    doc="plain C; places checked when they are used",
    applies=lambda _site, _target: True,
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=("td_roi.h", "td_rows.h"),
)
