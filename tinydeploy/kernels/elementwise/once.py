"""Sums of scaled products in plain C: 64-bit sums, rounded once, inside a loop nest that broadcasts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tinydeploy.ir import Attrs
from tinydeploy.kernels.base import Access, Banded, Instance, Kernel, Knobs, Params, Result, Scalar, Schedule
from tinydeploy.kernels.edge.params import C_STEPS
from tinydeploy.kernels.elementwise.binary import operand_access
from tinydeploy.kernels.nest import Loop, broadcast_strides, lines_of, merged, shape_text
from tinydeploy.kernels.targets import Target
from tinydeploy.ops import AnySite, add, mul, prelu, requantize, sub
from tinydeploy.ops.blend import Blend, is_once

BLENDS: dict[type[Attrs], Callable[[AnySite], Blend]] = {
    add.Add: add.blend_of,
    sub.Sub: sub.blend_of,
    mul.Mul: mul.blend_of,
    prelu.Prelu: prelu.blend_of,
    requantize.Requantize: requantize.blend_of,
}

INSTRUCTIONS_PER_OUTPUT = 20
INSTRUCTIONS_PER_TERM = 6


@dataclass(frozen=True, slots=True)
class BlendParams(Params):
    """C types of operands and result; which operands each term multiplies, and the side of the first."""

    loops: tuple[Loop, ...]
    operands: tuple[str, ...]
    result: str
    terms: tuple[tuple[tuple[int, ...], int], ...]
    low: int
    high: int


def _loops(site: AnySite, band: int, count: int) -> tuple[Loop, ...]:
    shape = site.outputs[0].shape
    extents = shape if lines_of(site) == 1 else (1, band, *shape[2:])
    strides = [broadcast_strides(site.input(index).shape, len(shape)) for index in range(count)]
    return merged(Loop(*loop) for loop in zip(extents, zip(*strides, strict=True), strict=True))


def _knobs(site: AnySite, _target: Target) -> tuple[Knobs, ...]:
    rows = lines_of(site)
    return (Banded(rows), Banded(1)) if rows > 1 else (Banded(1),)


def _make(site: AnySite, knobs: Knobs) -> Kernel:
    band = knobs.band if isinstance(knobs, Banded) else 1
    output, rows = site.outputs[0], lines_of(site)
    known = BLENDS[type(site.attrs)](site)
    count = len(known.zero_points)
    params = BlendParams(
        loops=_loops(site, band, count),
        operands=tuple(C_STEPS[site.input(index).dtype] for index in range(count)),
        result=C_STEPS[output.dtype],
        terms=tuple((term.operands, term.side) for term in known.terms),
        low=known.low,
        high=known.high,
    )
    accesses: list[Access] = [operand_access(site.input(index), rows) for index in range(count)]
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"{type(site.attrs).__name__}, {shape_text(output.shape)}",
        band=band,
        flat=True,
        operands=tuple(range(count)),
        accesses=tuple(accesses),
        result=Result(rows, output.bytes // rows),
        constants=(),
        scalars=(
            *(Scalar(f"zero_point_{k}", value) for k, value in enumerate(known.zero_points)),
            *(Scalar(f"multiplier_{k}", term.multiplier) for k, term in enumerate(known.terms)),
            Scalar("exponent", known.exponent),
            Scalar("output_zero_point", known.output_zero_point),
        ),
        scratch_bytes=0,
        cost_instructions=output.elements
        * (INSTRUCTIONS_PER_OUTPUT + INSTRUCTIONS_PER_TERM * len(known.terms)),
    )


SCHEDULE = Schedule(
    name="elementwise/once",
    op=tuple(BLENDS),
    doc="plain C; 64-bit sums of scaled products, rounded once",
    applies=lambda site, _target: is_once(site),
    knobs=_knobs,
    make=_make,
)
