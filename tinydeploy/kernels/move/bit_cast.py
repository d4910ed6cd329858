"""BitCast: the bytes copied."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Schedule
from tinydeploy.kernels.nest import shape_text, whole_access, whole_result
from tinydeploy.ops import AnySite
from tinydeploy.ops.bit_cast import BitCast


@dataclass(frozen=True, slots=True)
class BitCastParams(Params):
    """The size of the tensor."""

    bytes: int


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    output = site.outputs[0]
    return Kernel(
        instance=Instance(SCHEDULE.name, BitCastParams(output.bytes)),
        title=f"BitCast, {shape_text(output.shape)}",
        band=1,
        flat=True,
        operands=(0,),
        accesses=(whole_access(site, 0),),
        result=whole_result(site),
        constants=(),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=20 + output.bytes // 4,
    )


SCHEDULE = Schedule(
    name="move/bit_cast",
    op=BitCast,
    doc="a copy of the bytes: compilers may take two types at one address for two places",
    applies=lambda _site, _target: True,
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=("td_copy.h", "td_rows.h"),
)
