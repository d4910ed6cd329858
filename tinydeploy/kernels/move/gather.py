"""Gathers at indices of run time: the output in order, each run of elements from where its indices say."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Schedule
from tinydeploy.kernels.move.indexed import Walk, cost_of, walk_of
from tinydeploy.kernels.nest import shape_text, whole_access, whole_result
from tinydeploy.ops import AnySite
from tinydeploy.ops.gather import Gather
from tinydeploy.ops.gather_elements import GatherElements
from tinydeploy.ops.gather_nd import GatherND


@dataclass(frozen=True, slots=True)
class GatherParams(Params):
    """The nest over the output."""

    walk: Walk


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    output = site.outputs[0]
    walk = walk_of(site, output)
    return Kernel(
        instance=Instance(SCHEDULE.name, GatherParams(walk)),
        title=(
            f"{type(site.attrs).__name__}, {shape_text(site.input(0).shape)} "
            f"at {shape_text(site.input(1).shape)} indices"
        ),
        band=1,
        flat=True,
        operands=(0, 1),
        accesses=(whole_access(site, 0), whole_access(site, 1)),
        result=whole_result(site),
        constants=(),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=cost_of(walk, output),
    )


SCHEDULE = Schedule(
    name="move/gather",
    op=(Gather, GatherElements, GatherND),
    doc="plain C; indices checked when they are used",
    applies=lambda site, _target: site.has(1),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=("td_copy.h", "td_index.h", "td_rows.h"),
)
