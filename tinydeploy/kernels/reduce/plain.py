"""Reductions of plain elements: a nest over the outputs around a nest over what becomes one."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.ir import DType
from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Schedule
from tinydeploy.kernels.nest import Loop, merged, shape_text, strides_of, whole_access, whole_result
from tinydeploy.kernels.plain.types import C_TYPES, int_literal, is_unsigned, summand_type, unsigned, wrapped
from tinydeploy.ops import AnySite
from tinydeploy.ops.base import is_plain
from tinydeploy.ops.mean import Mean
from tinydeploy.ops.reduce import Reduce, ReduceFunction
from tinydeploy.ops.reduce_max import ReduceMax
from tinydeploy.ops.reduce_min import ReduceMin
from tinydeploy.ops.reduction import elements_of
from tinydeploy.ops.sum import Sum

INSTRUCTIONS_PER_ELEMENT = 5
INSTRUCTIONS_PER_EXPONENTIAL = 40
INSTRUCTIONS_PER_OUTPUT = 30

COMPENSATED_FROM = 256
"""Elements of a float sum from which on what each addition loses is summed too."""


@dataclass(frozen=True, slots=True)
class PlainReduceParams(Params):
    """``total`` has the type ``wide`` and starts as ``start``; each ``element`` makes ``step`` of it.

    A ``compensated`` total adds ``term`` and keeps the rest. ``finds_top`` looks for the largest element
    first. ``result`` is the output made of the total.
    """

    ctype: str
    element: str
    wide: str
    outer: tuple[Loop, ...]
    inner: tuple[Loop, ...]
    start: str
    term: str
    step: str
    compensated: bool
    finds_top: bool
    result: str


@dataclass(frozen=True, slots=True)
class _Fold:
    """How a total grows: it starts as ``start``; ``term`` is added, or ``step`` replaces it."""

    wide: str
    result: str
    start: str = "0"
    term: str = ""
    step: str = ""


def _fold(site: AnySite) -> _Fold:
    dtype = site.input(0).dtype
    if isinstance(site.attrs, ReduceMax | ReduceMin):
        return _extreme(dtype, largest=isinstance(site.attrs, ReduceMax))
    if dtype is DType.FLOAT32:
        return _float(site)
    return _integer(site, dtype)


def _extreme(dtype: DType, *, largest: bool) -> _Fold:
    if dtype is DType.FLOAT32:
        function = "td_maximumf" if largest else "td_minimumf"
        return _Fold("float", "total", "x[0]", step=f"{function}(total, value)")
    step = f"value {'>' if largest else '<'} total ? value : total"
    return _Fold(C_TYPES[dtype], "total", "x[0]", step=step)


def _float(site: AnySite) -> _Fold:
    if isinstance(site.attrs, Sum):
        return _Fold("float", "total", "0.0f", term="value")
    if isinstance(site.attrs, Mean):
        return _Fold("float", f"total / {elements_of(site)}.0f", "0.0f", term="value")
    return {
        ReduceFunction.PROD: _Fold("float", "total", "1.0f", step="total * value"),
        ReduceFunction.L1: _Fold("float", "total", "0.0f", term="td_absf(value)"),
        ReduceFunction.L2: _Fold("float", "td_sqrtf(total)", "0.0f", term="value * value"),
        ReduceFunction.LOG_SUM: _Fold("float", "td_logf(total)", "0.0f", term="value"),
        ReduceFunction.LOG_SUM_EXP: _Fold(
            "float", "td_logf(total) + top", "0.0f", term="td_expf(value - top)"
        ),
        ReduceFunction.SUM_SQUARE: _Fold("float", "total", "0.0f", term="value * value"),
    }[site.attrs.function]


def _integer(site: AnySite, dtype: DType) -> _Fold:
    wide = "uint64_t" if dtype is DType.INT64 else "uint32_t"
    value, ctype = f"({wide})value", C_TYPES[dtype]
    if isinstance(site.attrs, Mean):
        count = int_literal(elements_of(site), DType.INT64)
        return _Fold("uint64_t", f"({ctype})((int64_t)total / {count})", term="(uint64_t)value")
    if isinstance(site.attrs, Sum):
        return _Fold(wide, f"({ctype})total", term=value)
    if site.attrs.function is ReduceFunction.PROD:
        return _Fold(wide, f"({ctype})total", "1u", step=f"total * {value}")
    if site.attrs.function is ReduceFunction.SUM_SQUARE:
        return _Fold(wide, f"({ctype})total", term=f"{value} * {value}")
    if is_unsigned(dtype):
        return _Fold(wide, f"({ctype})total", term=value)
    return _Fold(wide, f"({ctype})total", term=f"(value < 0 ? {unsigned(dtype, '0')} - {value} : {value})")


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    data, axes = site.input(0), site.attrs.axes
    loops = [
        Loop(extent, (stride,)) for extent, stride in zip(data.shape, strides_of(data.shape), strict=True)
    ]
    fold = _fold(site)
    count, chooses = elements_of(site), isinstance(site.attrs, ReduceMax | ReduceMin)
    exponential = isinstance(site.attrs, Reduce) and site.attrs.function is ReduceFunction.LOG_SUM_EXP
    params = PlainReduceParams(
        ctype=C_TYPES[data.dtype],
        element=C_TYPES[data.dtype] if chooses else summand_type(data.dtype),
        wide=fold.wide,
        outer=merged(loop for axis, loop in enumerate(loops) if axis not in axes),
        inner=merged(loops[axis] for axis in axes),
        start=fold.start,
        term=fold.term,
        step=wrapped(data.dtype, fold.step) if chooses else fold.step,
        compensated=fold.wide == "float" and fold.term != "" and count >= COMPENSATED_FROM,
        finds_top=exponential,
        result=fold.result,
    )
    work = INSTRUCTIONS_PER_ELEMENT + (INSTRUCTIONS_PER_EXPONENTIAL if exponential else 0)
    function = f" {site.attrs.function.value}" if isinstance(site.attrs, Reduce) else ""
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"{type(site.attrs).__name__}{function}, {data.dtype.value} {shape_text(data.shape)} -> "
        f"{shape_text(site.outputs[0].shape)}",
        band=1,
        flat=True,
        operands=(0,),
        accesses=(whole_access(site, 0),),
        result=whole_result(site),
        constants=(),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=data.elements * work + site.outputs[0].elements * INSTRUCTIONS_PER_OUTPUT,
    )


SCHEDULE = Schedule(
    name="reduce/plain",
    op=(Mean, Reduce, ReduceMax, ReduceMin, Sum),
    doc="plain C; one pass over the plain elements of each output",
    applies=lambda site, _target: is_plain(site),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=("td_math.h", "td_rows.h"),
)
