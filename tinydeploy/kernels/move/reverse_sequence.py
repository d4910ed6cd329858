"""ReverseSequence: five loops around the two axes that matter."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tinydeploy.ir import DType
from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Schedule
from tinydeploy.kernels.move.scalar import ctype_of
from tinydeploy.kernels.nest import shape_text, whole_access, whole_result
from tinydeploy.ops import AnySite
from tinydeploy.ops.reverse_sequence import ReverseSequence

INSTRUCTIONS_PER_RUN = 25


@dataclass(frozen=True, slots=True)
class ReverseParams(Params):
    """The data is seen as [outer, first, between, second, run]; ``batch_first`` says which of the two axes
    the batch is."""

    outer: int
    first: int
    between: int
    second: int
    run: int
    batch_first: bool
    ctype: str
    element_bytes: int
    index: str


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    data, attrs = site.input(0), site.attrs
    first, second = sorted((attrs.batch_axis, attrs.time_axis))
    params = ReverseParams(
        outer=math.prod(data.shape[:first]),
        first=data.shape[first],
        between=math.prod(data.shape[first + 1 : second]),
        second=data.shape[second],
        run=math.prod(data.shape[second + 1 :]),
        batch_first=attrs.batch_axis < attrs.time_axis,
        ctype=ctype_of(data.dtype),
        element_bytes=data.dtype.bits // 8,
        index="int64_t" if site.input(1).dtype is DType.INT64 else "int32_t",
    )
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"ReverseSequence, {shape_text(data.shape)}",
        band=1,
        flat=True,
        operands=(0, 1),
        accesses=(whole_access(site, 0), whole_access(site, 1)),
        result=whole_result(site),
        constants=(),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=data.elements + data.elements // params.run * INSTRUCTIONS_PER_RUN,
    )


SCHEDULE = Schedule(
    name="move/reverse_sequence",
    op=ReverseSequence,
    doc="plain C; lengths checked when they are used",
    applies=lambda _site, _target: True,
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=("td_copy.h", "td_index.h", "td_rows.h"),
)
