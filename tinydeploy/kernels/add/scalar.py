"""Add in plain C: elements in memory order, rows contiguous."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.kernels.base import Access, Banded, Instance, Kernel, Knobs, Params, Result, Scalar, Schedule
from tinydeploy.kernels.targets import Target
from tinydeploy.ops import AnySite
from tinydeploy.ops.add import LEFT_SHIFT, Add, factors_of
from tinydeploy.ops.quantized import activation_limits, quant_of

INSTRUCTIONS_PER_OUTPUT = 40


@dataclass(frozen=True, slots=True)
class AddParams(Params):
    elements: int
    left_shift: int
    low: int
    high: int


def _rows(site: AnySite) -> tuple[int, int]:
    """Rows and bytes of a row: the lines of an image, else one row."""
    type_ = site.outputs[0]
    rows = type_.shape[1] if len(type_.shape) == 4 and type_.shape[0] == 1 else 1
    return rows, type_.bytes // rows


def _knobs(site: AnySite, _target: Target) -> tuple[Knobs, ...]:
    rows, _ = _rows(site)
    return (Banded(rows), Banded(1)) if rows > 1 else (Banded(1),)


def _make(site: AnySite, knobs: Knobs) -> Kernel:
    band = knobs.band if isinstance(knobs, Banded) else 1
    rows, row_bytes = _rows(site)
    low, high = activation_limits(site.attrs.activation, site.outputs[0])
    factors = factors_of(site)
    scalars = [Scalar("output_zero_point", quant_of(site.outputs[0]).zero_point)]
    for name, index in (("a", 0), ("b", 1)):
        multiplier, shift = factors.inputs[index]
        scalars += [
            Scalar(f"{name}_zero_point", quant_of(site.input(index)).zero_point),
            Scalar(f"{name}_multiplier", multiplier),
            Scalar(f"{name}_shift", shift),
        ]
    scalars += [Scalar("multiplier", factors.output[0]), Scalar("shift", factors.output[1])]
    return Kernel(
        instance=Instance(SCHEDULE.name, AddParams(band * row_bytes, LEFT_SHIFT, low, high)),
        title=f"Add, {'x'.join(map(str, site.outputs[0].shape[1:]))}",
        band=band,
        flat=True,
        operands=(0, 1),
        accesses=(Access(rows, row_bytes), Access(rows, row_bytes)),
        result=Result(rows, row_bytes),
        constants=(),
        scalars=tuple(scalars),
        scratch_bytes=0,
        cost_instructions=site.outputs[0].elements * INSTRUCTIONS_PER_OUTPUT,
    )


SCHEDULE = Schedule(
    name="add/scalar",
    op=Add,
    doc="plain C; three requantizations per element",
    applies=lambda _site, _target: True,
    knobs=_knobs,
    make=_make,
)
