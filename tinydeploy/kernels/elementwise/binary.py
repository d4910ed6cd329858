"""Two operands in plain C: the operator's formula inside a loop nest that broadcasts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tinydeploy.ir import Attrs, TensorType
from tinydeploy.kernels.base import Access, Banded, Instance, Kernel, Knobs, Params, Result, Schedule
from tinydeploy.kernels.elementwise.c_text import c_text, numbers_of
from tinydeploy.kernels.image import steps_ctype
from tinydeploy.kernels.nest import Loop, broadcast_strides, lines_of, merged, shape_text
from tinydeploy.kernels.targets import Target
from tinydeploy.ops import AnySite, add, maximum, minimum, mul, prelu, sub
from tinydeploy.ops.blend import is_twice
from tinydeploy.ops.formula import Chosen, Formula

FORMULAS: dict[type[Attrs], Callable[[AnySite], Formula]] = {
    add.Add: add.formula,
    sub.Sub: sub.formula,
    mul.Mul: mul.formula,
    minimum.Minimum: minimum.formula,
    maximum.Maximum: maximum.formula,
    prelu.Prelu: prelu.formula,
}

INSTRUCTIONS_PER_REQUANTIZATION = 12
INSTRUCTIONS_PER_OUTPUT = 10


@dataclass(frozen=True, slots=True)
class BinaryParams(Params):
    """``definitions`` and ``result`` are C; a formula of elements alone needs no clamp."""

    loops: tuple[Loop, ...]
    definitions: tuple[tuple[str, str], ...]
    result: str
    clamps: bool
    low: int
    high: int
    ctype: str = "int8_t"


def operand_access(type_: TensorType, rows: int) -> Access:
    """The operand's lines, or all of it for every line where it has only one."""
    lines = type_.shape[-3] if len(type_.shape) >= 3 else 1
    if rows > 1 and lines == 1:
        return Access(1, type_.bytes, stride=0)
    return Access(rows, type_.bytes // rows)


def _loops(site: AnySite, band: int) -> tuple[Loop, ...]:
    """The nest over ``band`` lines, or over the whole output where it is one row."""
    shape = site.outputs[0].shape
    extents = shape if lines_of(site) == 1 else (1, band, *shape[2:])
    strides = [broadcast_strides(site.input(index).shape, len(shape)) for index in range(2)]
    return merged(Loop(*loop) for loop in zip(extents, zip(*strides, strict=True), strict=True))


def _knobs(site: AnySite, _target: Target) -> tuple[Knobs, ...]:
    rows = lines_of(site)
    return (Banded(rows), Banded(1)) if rows > 1 else (Banded(1),)


def _make(site: AnySite, knobs: Knobs) -> Kernel:
    band = knobs.band if isinstance(knobs, Banded) else 1
    output = site.outputs[0]
    rows = lines_of(site)
    formula = FORMULAS[type(site.attrs)](site)
    params = BinaryParams(
        loops=_loops(site, band),
        definitions=tuple((name, c_text(definition)) for name, definition in formula.definitions),
        result=c_text(formula.result),
        clamps=not isinstance(formula.result, Chosen),
        low=formula.low,
        high=formula.high,
        ctype=steps_ctype(output),
    )
    scalars = numbers_of(formula)
    work = INSTRUCTIONS_PER_REQUANTIZATION * sum(scalar.role.endswith("shift") for scalar in scalars)
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"{type(site.attrs).__name__}, {shape_text(output.shape)}",
        band=band,
        flat=True,
        operands=(0, 1),
        accesses=tuple(operand_access(site.input(index), rows) for index in range(2)),
        result=Result(rows, output.bytes // rows),
        constants=(),
        scalars=scalars,
        scratch_bytes=0,
        cost_instructions=output.elements * (INSTRUCTIONS_PER_OUTPUT + work),
    )


SCHEDULE = Schedule(
    name="elementwise/binary",
    op=tuple(FORMULAS),
    doc="plain C; the operator's formula in a loop nest",
    applies=lambda site, _target: is_twice(site),
    knobs=_knobs,
    make=_make,
)
