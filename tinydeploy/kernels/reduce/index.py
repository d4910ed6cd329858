"""ArgMax and ArgMin of plain elements: a search along one axis for every output."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.ir import DType
from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Schedule
from tinydeploy.kernels.nest import Loop, merged, shape_text, strides_of, whole_access, whole_result
from tinydeploy.kernels.plain.types import C_TYPES
from tinydeploy.kernels.targets import Target
from tinydeploy.ops import AnySite
from tinydeploy.ops.arg_max import ArgMax
from tinydeploy.ops.arg_min import ArgMin
from tinydeploy.ops.base import is_plain

INSTRUCTIONS_PER_ELEMENT = 6
INSTRUCTIONS_PER_OUTPUT = 15


@dataclass(frozen=True, slots=True)
class IndexParams(Params):
    """``extent`` elements, ``step`` apart, are searched; ``better`` compares one with the best so far."""

    ctype: str
    index: str
    outer: tuple[Loop, ...]
    extent: int
    step: int
    better: str


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    data, output = site.input(0), site.outputs[0]
    (axis,) = site.attrs.axes
    strides = strides_of(data.shape)
    loops = [Loop(extent, (stride,)) for extent, stride in zip(data.shape, strides, strict=True)]
    better = (">" if isinstance(site.attrs, ArgMax) else "<") + ("=" if site.attrs.select_last else "")
    params = IndexParams(
        ctype=C_TYPES[data.dtype],
        index=C_TYPES[output.dtype],
        outer=merged(loop for index, loop in enumerate(loops) if index != axis),
        extent=data.shape[axis],
        step=strides[axis],
        better=better,
    )
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"{type(site.attrs).__name__}, {data.dtype.value} {shape_text(data.shape)} -> "
        f"{shape_text(output.shape)}",
        band=1,
        flat=True,
        operands=(0,),
        accesses=(whole_access(site, 0),),
        result=whole_result(site),
        constants=(),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=data.elements * INSTRUCTIONS_PER_ELEMENT
        + output.elements * INSTRUCTIONS_PER_OUTPUT,
    )


def _applies(site: AnySite, _target: Target) -> bool:
    """What is quantized compares as its steps do; the schedule of int8 has only the first of equals."""
    attrs: ArgMax | ArgMin = site.attrs
    return is_plain(site) or attrs.select_last or attrs.index is not DType.INT32


SCHEDULE = Schedule(
    name="reduce/index",
    op=(ArgMax, ArgMin),
    doc="plain C; a search along one axis",
    applies=_applies,
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
)
