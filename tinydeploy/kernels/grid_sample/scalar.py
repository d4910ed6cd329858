"""GridSample in plain C: for each place the pixels around it, all channels of a pixel together."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Schedule
from tinydeploy.kernels.nest import shape_text, strides_of, whole_access, whole_result
from tinydeploy.ops import AnySite
from tinydeploy.ops.grid_sample import GridSample, Outside, Sampling

TAPS = {Sampling.NEAREST: 1, Sampling.LINEAR: 2, Sampling.CUBIC: 4}
INSTRUCTIONS_PER_PLACE = 60
INSTRUCTIONS_PER_PRODUCT = 6


@dataclass(frozen=True, slots=True)
class Axis:
    """One spatial axis; ``number`` is where the grid holds its place, ``stride`` counts elements."""

    extent: int
    stride: int
    number: int


@dataclass(frozen=True, slots=True)
class GridSampleParams(Params):
    """``places`` is the number of them in one image, ``image`` the number of elements of an image."""

    batch: int
    places: int
    image: int
    channels: int
    axes: tuple[Axis, ...]
    taps: int
    zeros: bool
    border: bool
    align_corners: bool


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    image, grid, attrs = site.input(0), site.input(1), site.attrs
    strides = strides_of(image.shape)
    count = len(image.shape) - 2
    taps = TAPS[attrs.sampling]
    params = GridSampleParams(
        batch=image.shape[0],
        places=math.prod(grid.shape[1:-1]),
        image=strides[0],
        channels=image.shape[-1],
        axes=tuple(Axis(image.shape[1 + k], strides[1 + k], count - 1 - k) for k in range(count)),
        taps=taps,
        zeros=attrs.outside is Outside.ZEROS,
        border=attrs.outside is Outside.BORDER,
        align_corners=attrs.align_corners,
    )
    each = INSTRUCTIONS_PER_PLACE * count + taps**count * params.channels * INSTRUCTIONS_PER_PRODUCT
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"GridSample, {shape_text(image.shape)} at {shape_text(grid.shape[:-1])} places",
        band=1,
        flat=True,
        operands=(0, 1),
        accesses=(whole_access(site, 0), whole_access(site, 1)),
        result=whole_result(site),
        constants=(),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=params.batch * params.places * each,
    )


SCHEDULE = Schedule(
    name="grid_sample/scalar",
    op=GridSample,
    doc="plain C; places checked when they are used",
    applies=lambda _site, _target: True,
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=("td_grid.h", "td_rows.h"),
)
