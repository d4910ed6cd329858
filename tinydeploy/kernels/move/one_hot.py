"""OneHot: the first value everywhere, then the second where the indices say."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tinydeploy.ir import DType
from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Schedule
from tinydeploy.kernels.move.scalar import ctype_of
from tinydeploy.kernels.nest import shape_text, whole_access, whole_result
from tinydeploy.ops import AnySite
from tinydeploy.ops.one_hot import OneHot

INSTRUCTIONS_PER_ELEMENT = 3
INSTRUCTIONS_PER_INDEX = 15


@dataclass(frozen=True, slots=True)
class OneHotParams(Params):
    """The output is seen as [outer, depth, inner]; ``low`` is the lowest index that counts."""

    outer: int
    depth: int
    low: int
    inner: int
    ctype: str
    index: str
    is_float: bool


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    indices, output, attrs = site.input(0), site.outputs[0], site.attrs
    is_float = indices.dtype is DType.FLOAT32
    params = OneHotParams(
        outer=math.prod(indices.shape[: attrs.axis]),
        depth=attrs.depth,
        low=-attrs.depth if attrs.wraps else 0,
        inner=math.prod(indices.shape[attrs.axis :]),
        ctype=ctype_of(output.dtype),
        index="float" if is_float else f"{indices.dtype.value}_t",
        is_float=is_float,
    )
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"OneHot, {shape_text(indices.shape)} -> {shape_text(output.shape)}",
        band=1,
        flat=True,
        operands=(0, 1),
        accesses=(whole_access(site, 0), whole_access(site, 1)),
        result=whole_result(site),
        constants=(),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=(
            output.elements * INSTRUCTIONS_PER_ELEMENT + indices.elements * INSTRUCTIONS_PER_INDEX
        ),
    )


SCHEDULE = Schedule(
    name="move/one_hot",
    op=OneHot,
    doc="plain C; indices that lie outside set nothing",
    applies=lambda _site, _target: True,
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
)
