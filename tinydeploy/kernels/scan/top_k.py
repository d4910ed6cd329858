"""TopK in plain C: the best so far are kept sorted in the output itself."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Result, Schedule
from tinydeploy.kernels.nest import Loop, merged, shape_text, strides_of, whole_access, whole_result
from tinydeploy.kernels.plain.types import C_TYPES
from tinydeploy.ops import AnySite
from tinydeploy.ops.top_k import TopK

INSTRUCTIONS_PER_ELEMENT = 10
INSTRUCTIONS_PER_MOVE = 8


@dataclass(frozen=True, slots=True)
class TopKParams(Params):
    """Loops walk over input and output; on both, elements along the axis lie ``step`` apart."""

    ctype: str
    index: str
    outer: tuple[Loop, ...]
    extent: int
    k: int
    step: int
    better: str


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    data, values, indices = site.input(0), *site.outputs
    attrs: TopK = site.attrs
    pairs = zip(strides_of(data.shape), strides_of(values.shape), strict=True)
    loops = [Loop(extent, pair) for extent, pair in zip(data.shape, pairs, strict=True)]
    extent = data.shape[attrs.axis]
    params = TopKParams(
        ctype=C_TYPES[data.dtype],
        index=C_TYPES[indices.dtype],
        outer=merged(loop for axis, loop in enumerate(loops) if axis != attrs.axis),
        extent=extent,
        k=attrs.k,
        step=strides_of(data.shape)[attrs.axis],
        better=">" if attrs.largest else "<",
    )
    moves = values.elements * (1 + extent // 4)
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"TopK, {attrs.k} of {data.dtype.value} {shape_text(data.shape)}",
        band=1,
        flat=True,
        operands=(0,),
        accesses=(whole_access(site, 0),),
        result=whole_result(site),
        constants=(),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=data.elements * INSTRUCTIONS_PER_ELEMENT + moves * INSTRUCTIONS_PER_MOVE,
        more=(Result(1, indices.bytes),),
    )


SCHEDULE = Schedule(
    name="scan/top_k",
    op=TopK,
    doc="plain C; insertion into the sorted output",
    applies=lambda _site, _target: True,
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
)
