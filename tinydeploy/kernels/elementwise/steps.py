"""One operand of steps that are too wide for a table, in plain C: the operator's formula in a loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tinydeploy.ir import Attrs, DType
from tinydeploy.kernels.base import Access, Banded, Instance, Kernel, Knobs, Params, Result, Schedule
from tinydeploy.kernels.elementwise.c_text import c_text, numbers_of
from tinydeploy.kernels.nest import lines_of, shape_text
from tinydeploy.kernels.targets import Target
from tinydeploy.ops import AnySite, leaky_relu, relu, requantize
from tinydeploy.ops.blend import is_twice
from tinydeploy.ops.formula import Formula

FORMULAS: dict[type[Attrs], Callable[[AnySite], Formula]] = {
    leaky_relu.LeakyRelu: leaky_relu.formula,
    relu.Relu: relu.formula,
    requantize.Requantize: requantize.formula,
}

INSTRUCTIONS_PER_OUTPUT = 30

_CTYPES = {
    DType.INT8: "int8_t",
    DType.UINT8: "uint8_t",
    DType.INT16: "int16_t",
    DType.UINT16: "uint16_t",
    DType.INT32: "int32_t",
}


@dataclass(frozen=True, slots=True)
class StepsParams(Params):
    """``definitions`` and ``result`` are C; int32 results need no clamp."""

    elements: int
    source: str
    target: str
    definitions: tuple[tuple[str, str], ...]
    result: str
    clamps: bool
    low: int
    high: int


def _applies(site: AnySite, _target: Target) -> bool:
    return is_twice(site) and max(site.input(0).dtype.bits // 2, site.outputs[0].dtype.bits // 4) > 4


def _knobs(site: AnySite, _target: Target) -> tuple[Knobs, ...]:
    rows = lines_of(site)
    return (Banded(rows), Banded(1)) if rows > 1 else (Banded(1),)


def _make(site: AnySite, knobs: Knobs) -> Kernel:
    band = knobs.band if isinstance(knobs, Banded) else 1
    rows, output = lines_of(site), site.outputs[0]
    formula = FORMULAS[type(site.attrs)](site)
    params = StepsParams(
        elements=band * output.elements // rows,
        source=_CTYPES[site.input(0).dtype],
        target=_CTYPES[output.dtype],
        definitions=tuple((name, c_text(definition)) for name, definition in formula.definitions),
        result=c_text(formula.result),
        clamps=output.dtype is not DType.INT32,
        low=formula.low,
        high=formula.high,
    )
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"{type(site.attrs).__name__}, {shape_text(output.shape)}",
        band=band,
        flat=True,
        operands=(0,),
        accesses=(Access(rows, site.input(0).bytes // rows),),
        result=Result(rows, output.bytes // rows),
        constants=(),
        scalars=numbers_of(formula),
        scratch_bytes=0,
        cost_instructions=output.elements * INSTRUCTIONS_PER_OUTPUT,
    )


SCHEDULE = Schedule(
    name="elementwise/steps",
    op=tuple(FORMULAS),
    doc="plain C; the operator's formula of one element of 16 or 32 bits",
    applies=_applies,
    knobs=_knobs,
    make=_make,
)
