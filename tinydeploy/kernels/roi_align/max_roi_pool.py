"""MaxRoiPool in plain C: for each bin a search among its pixels, all channels together."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Schedule
from tinydeploy.kernels.nest import shape_text, whole_access, whole_result
from tinydeploy.ops import AnySite
from tinydeploy.ops.max_roi_pool import FAR, MaxRoiPool

INSTRUCTIONS_PER_PIXEL = 6


@dataclass(frozen=True, slots=True)
class MaxRoiPoolParams(Params):
    """``far`` is where places are cut."""

    batch: int
    height: int
    width: int
    channels: int
    regions: int
    bins_y: int
    bins_x: int
    scale: float
    far: int


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    image, regions, output, attrs = site.input(0), site.input(1), site.outputs[0], site.attrs
    batch, height, width, channels = image.shape
    params = MaxRoiPoolParams(
        batch, height, width, channels, regions.shape[0], attrs.size[0], attrs.size[1], attrs.scale, FAR
    )
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"MaxRoiPool, {params.regions} regions of {shape_text(image.shape)}",
        band=1,
        flat=True,
        operands=(0, 1),
        accesses=(whole_access(site, 0), whole_access(site, 1)),
        result=whole_result(site),
        constants=(),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=(output.elements + params.regions * image.elements) * INSTRUCTIONS_PER_PIXEL,
    )


SCHEDULE = Schedule(
    name="roi_align/max_roi_pool",
    op=MaxRoiPool,
    doc="plain C; places checked when they are used",
    applies=lambda _site, _target: True,
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=("td_grid.h", "td_rows.h"),
)
