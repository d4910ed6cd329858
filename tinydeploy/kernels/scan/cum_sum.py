"""CumSum in plain C: one total, sum or product, per line along the axis."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.ir import DType
from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Schedule
from tinydeploy.kernels.nest import Loop, merged, shape_text, strides_of, whole_access, whole_result
from tinydeploy.kernels.plain.types import C_TYPES, summand_type
from tinydeploy.ops import AnySite
from tinydeploy.ops.cum_sum import CumSum

INSTRUCTIONS_PER_ELEMENT = 8


@dataclass(frozen=True, slots=True)
class CumSumParams(Params):
    """``extent`` elements from ``first`` on, ``step`` apart, are summed in the type ``wide``."""

    ctype: str
    element: str
    wide: str
    outer: tuple[Loop, ...]
    extent: int
    first: int
    step: int
    exclusive: bool
    operator: str
    start: str


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    data, attrs = site.input(0), site.attrs
    strides = strides_of(data.shape)
    loops = [Loop(extent, (stride,)) for extent, stride in zip(data.shape, strides, strict=True)]
    extent, stride = data.shape[attrs.axis], strides[attrs.axis]
    wide = {DType.FLOAT32: "float", DType.INT64: "uint64_t"}.get(data.dtype, "uint32_t")
    params = CumSumParams(
        ctype=C_TYPES[data.dtype],
        element=summand_type(data.dtype),
        wide=wide,
        outer=merged(loop for axis, loop in enumerate(loops) if axis != attrs.axis),
        extent=extent,
        first=(extent - 1) * stride if attrs.reverse else 0,
        step=-stride if attrs.reverse else stride,
        exclusive=attrs.exclusive,
        operator="*" if attrs.product else "+",
        start=f"{int(attrs.product)}{'.0f' if wide == 'float' else 'u'}",
    )
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"CumSum, {data.dtype.value} {shape_text(data.shape)}",
        band=1,
        flat=True,
        operands=(0,),
        accesses=(whole_access(site, 0),),
        result=whole_result(site),
        constants=(),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=data.elements * INSTRUCTIONS_PER_ELEMENT,
    )


SCHEDULE = Schedule(
    name="scan/cum_sum",
    op=CumSum,
    doc="plain C; one total per line",
    applies=lambda _site, _target: True,
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
)
