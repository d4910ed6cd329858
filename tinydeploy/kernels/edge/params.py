"""What the two schedules at a model's edges share."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.ir import Quant
from tinydeploy.kernels.base import Access, Banded, Instance, Kernel, Knobs, Params, Result, Scalar
from tinydeploy.kernels.nest import lines_of, shape_text
from tinydeploy.kernels.targets import Target
from tinydeploy.ops import AnySite


@dataclass(frozen=True, slots=True)
class EdgeParams(Params):
    """``scale`` is a float32 number."""

    elements: int
    scale: float


def knobs_of(site: AnySite, _target: Target) -> tuple[Knobs, ...]:
    rows = lines_of(site)
    return (Banded(rows), Banded(1)) if rows > 1 else (Banded(1),)


def edge_kernel(site: AnySite, knobs: Knobs, name: str, quant: Quant, instructions: int) -> Kernel:
    """Element by element between types of different size; ``quant`` is that of the int8 side."""
    band = knobs.band if isinstance(knobs, Banded) else 1
    rows, output = lines_of(site), site.outputs[0]
    return Kernel(
        instance=Instance(name, EdgeParams(band * output.elements // rows, quant.scale)),
        title=f"{type(site.attrs).__name__}, {shape_text(output.shape)}",
        band=band,
        flat=True,
        operands=(0,),
        accesses=(Access(rows, site.input(0).bytes // rows),),
        result=Result(rows, output.bytes // rows),
        constants=(),
        scalars=(Scalar("zero_point", quant.zero_point),),
        scratch_bytes=0,
        cost_instructions=output.elements * instructions,
    )
