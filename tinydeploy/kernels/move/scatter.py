"""Scatters at indices of run time: a copy of the data, then the updates, each where its indices say."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.ir import DType
from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Schedule
from tinydeploy.kernels.move.indexed import Walk, cost_of, walk_of
from tinydeploy.kernels.nest import shape_text, whole_access, whole_result
from tinydeploy.ops import AnySite
from tinydeploy.ops.scatter import Reduction
from tinydeploy.ops.scatter_elements import ScatterElements
from tinydeploy.ops.scatter_nd import ScatterND


@dataclass(frozen=True, slots=True)
class ScatterParams(Params):
    """The nest over the updates. ``ctype`` is the elements' own type; ``result`` is C of the element ``at``
    its place and the ``update``."""

    walk: Walk
    ctype: str
    bytes: int
    result: str


def _result(reduction: Reduction, dtype: DType, ctype: str) -> str:
    match reduction:
        case Reduction.NONE:
            return "update"
        case Reduction.MIN:
            return "update < *at ? update : *at"
        case Reduction.MAX:
            return "update > *at ? update : *at"
    sign = "+" if reduction is Reduction.ADD else "*"
    if dtype is DType.FLOAT32:
        return f"*at {sign} update"
    wide = "uint64_t" if dtype.bits == 64 else "uint32_t"
    return f"({ctype})(({wide})*at {sign} ({wide})update)"


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    data, updates, reduction = site.input(0), site.input(2), site.attrs.reduction
    walk = walk_of(site, updates)
    named = "float" if data.dtype is DType.FLOAT32 else f"{data.dtype.value}_t"
    ctype = walk.ctype if reduction is Reduction.NONE else named
    params = ScatterParams(walk, ctype, data.bytes, _result(reduction, data.dtype, ctype))
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"{type(site.attrs).__name__}, {shape_text(updates.shape)} into {shape_text(data.shape)}",
        band=1,
        flat=True,
        operands=(0, 1, 2),
        accesses=tuple(whole_access(site, index) for index in range(3)),
        result=whole_result(site),
        constants=(),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=data.elements + cost_of(walk, updates),
    )


SCHEDULE = Schedule(
    name="move/scatter",
    op=(ScatterElements, ScatterND),
    doc="plain C; indices checked when they are used",
    applies=lambda _site, _target: True,
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=("td_copy.h", "td_index.h", "td_rows.h"),
)
