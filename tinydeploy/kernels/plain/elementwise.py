"""Plain elementwise operators in C: the operator's expression inside a loop nest that broadcasts."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Result, Schedule
from tinydeploy.kernels.elementwise.binary import operand_access
from tinydeploy.kernels.nest import Loop, broadcast_strides, lines_of, merged, shape_text
from tinydeploy.kernels.plain.arithmetic import EXPRESSIONS
from tinydeploy.kernels.plain.types import C_TYPES, Expression
from tinydeploy.kernels.targets import Target
from tinydeploy.ops import AnySite
from tinydeploy.ops.base import is_plain
from tinydeploy.ops.where import Where

INSTRUCTIONS_PER_OUTPUT = 8
INSTRUCTIONS_PER_CALL = 40
"""A function of td_math.h; the cheap ones are overrated, which no choice depends on."""

NAMES = "abc"


@dataclass(frozen=True, slots=True)
class Operand:
    """One input in C. One that every element shares is read before the loops."""

    name: str
    ctype: str
    shared: bool


@dataclass(frozen=True, slots=True)
class ElementwiseParams(Params):
    loops: tuple[Loop, ...]
    operands: tuple[Operand, ...]
    output: str
    expression: Expression


def _loops(site: AnySite, band: int) -> tuple[Loop, ...]:
    """The nest over ``band`` lines, or over the whole output where it is one row."""
    shape = site.outputs[0].shape
    extents = shape if lines_of(site) == 1 else (1, band, *shape[2:])
    strides = [broadcast_strides(site.input(index).shape, len(shape)) for index in range(len(site.inputs))]
    return merged(Loop(*loop) for loop in zip(extents, zip(*strides, strict=True), strict=True))


def _knobs(site: AnySite, _target: Target) -> tuple[Knobs, ...]:
    rows = lines_of(site)
    return (Banded(rows), Banded(1)) if rows > 1 else (Banded(1),)


def _make(site: AnySite, knobs: Knobs) -> Kernel:
    band = knobs.band if isinstance(knobs, Banded) else 1
    output, rows = site.outputs[0], lines_of(site)
    loops = _loops(site, band)
    operands = tuple(range(len(site.inputs)))
    expression = EXPRESSIONS[type(site.attrs)](site)
    text = " ".join([expression.result, *(definition for _, _, definition in expression.definitions)])
    return Kernel(
        instance=Instance(
            SCHEDULE.name,
            ElementwiseParams(
                loops=loops,
                operands=tuple(
                    Operand(
                        NAMES[index],
                        C_TYPES[site.input(index).dtype],
                        all(loop.strides[index] == 0 for loop in loops),
                    )
                    for index in operands
                ),
                output=C_TYPES[output.dtype],
                expression=expression,
            ),
        ),
        title=f"{_title(site)}, {output.dtype.value} {shape_text(output.shape)}",
        band=band,
        flat=True,
        operands=operands,
        accesses=tuple(operand_access(site.input(index), rows) for index in operands),
        result=Result(rows, output.bytes // rows),
        constants=(),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=output.elements
        * (INSTRUCTIONS_PER_OUTPUT + INSTRUCTIONS_PER_CALL * text.count("td_")),
    )


def _title(site: AnySite) -> str:
    function = getattr(site.attrs, "function", None) or getattr(site.attrs, "relation", None)
    name = type(site.attrs).__name__
    return name if function is None else f"{name} {function.value}"


SCHEDULE = Schedule(
    name="plain/elementwise",
    op=tuple(EXPRESSIONS),
    doc="plain C; the operator's expression in a loop nest",
    applies=lambda site, _target: is_plain(site) or isinstance(site.attrs, Where),
    knobs=_knobs,
    make=_make,
    headers=("td_numbers.h", "td_math.h", "td_rows.h"),
)
