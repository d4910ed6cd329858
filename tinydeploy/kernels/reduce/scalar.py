"""Reductions in plain C: a nest over the outputs around a nest over what becomes one."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.ir import DType
from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Scalar, Schedule
from tinydeploy.kernels.image import steps_ctype
from tinydeploy.kernels.nest import Loop, merged, shape_text, strides_of, whole_access, whole_result
from tinydeploy.kernels.requantize import single_requantizer
from tinydeploy.kernels.targets import Target
from tinydeploy.ops import AnySite
from tinydeploy.ops import mean as mean_op
from tinydeploy.ops import sum as sum_op
from tinydeploy.ops.arg_max import ArgMax
from tinydeploy.ops.arg_min import ArgMin
from tinydeploy.ops.base import is_plain
from tinydeploy.ops.mean import Mean
from tinydeploy.ops.quantized import quant_of
from tinydeploy.ops.reduce_max import ReduceMax
from tinydeploy.ops.reduce_min import ReduceMin
from tinydeploy.ops.reduction import elements_of
from tinydeploy.ops.sum import Sum

INSTRUCTIONS_PER_ELEMENT = 4
INSTRUCTIONS_PER_OUTPUT = 30


@dataclass(frozen=True, slots=True)
class ReduceParams(Params):
    """``kind`` is sum, best or arg; ``better`` compares a candidate with the best so far.

    For arg, ``extent`` elements that lie ``step`` apart are searched.
    """

    kind: str
    better: str
    outer: tuple[Loop, ...]
    inner: tuple[Loop, ...]
    extent: int
    step: int
    function: str
    ctype: str = "int8_t"
    low: int = -128
    high: int = 127


_KINDS = {
    Mean: ("sum", ""),
    Sum: ("sum", ""),
    ReduceMax: ("best", ">"),
    ReduceMin: ("best", "<"),
    ArgMax: ("arg", ">"),
    ArgMin: ("arg", "<"),
}


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    shape, axes = site.input(0).shape, site.attrs.axes
    strides = strides_of(shape)
    loops = [Loop(extent, (stride,)) for extent, stride in zip(shape, strides, strict=True)]
    kind, better = _KINDS[type(site.attrs)]
    scalars, function = _scalars(site) if kind == "sum" else ((), "")
    params = ReduceParams(
        kind=kind,
        better=better,
        outer=merged(loop for axis, loop in enumerate(loops) if axis not in axes),
        inner=merged(loops[axis] for axis in axes),
        extent=elements_of(site),
        step=strides[axes[0]] if kind == "arg" else 0,
        function=function,
        ctype=steps_ctype(site.input(0)),
        low=site.input(0).dtype.limits[0],
        high=site.input(0).dtype.limits[1],
    )
    outputs = site.outputs[0].elements
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"{type(site.attrs).__name__}, {shape_text(shape)} -> {shape_text(site.outputs[0].shape)}",
        band=1,
        flat=True,
        operands=(0,),
        accesses=(whole_access(site, 0),),
        result=whole_result(site),
        constants=(),
        scalars=scalars,
        scratch_bytes=0,
        cost_instructions=site.input(0).elements * INSTRUCTIONS_PER_ELEMENT
        + outputs * INSTRUCTIONS_PER_OUTPUT,
    )


def _scalars(site: AnySite) -> tuple[tuple[Scalar, ...], str]:
    """The arguments of a sum, its start holding the zero points of all elements; and the C function."""
    factor_of = mean_op.factor_of if isinstance(site.attrs, Mean) else sum_op.factor_of
    multiplier, shift = factor_of(site)
    peak = ((1 << site.input(0).dtype.bits) - 1) * elements_of(site)
    function, shift = single_requantizer(site.attrs.rounding, multiplier, shift, peak)
    scalars = (
        Scalar("start", -quant_of(site.input(0)).zero_point * elements_of(site)),
        Scalar("multiplier", multiplier),
        Scalar("shift", shift),
        Scalar("output_zero_point", quant_of(site.outputs[0]).zero_point),
    )
    return scalars, function


def _applies(site: AnySite, _target: Target) -> bool:
    if is_plain(site):
        return False
    if isinstance(site.attrs, ArgMax | ArgMin):
        return not site.attrs.select_last and site.attrs.index is DType.INT32
    return True


SCHEDULE = Schedule(
    name="reduce/scalar",
    op=tuple(_KINDS),
    doc="plain C; one pass over the elements of each output",
    applies=_applies,
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
)
