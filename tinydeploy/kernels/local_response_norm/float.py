"""LocalResponseNorm of float32 in plain C: the squares of the window summed anew for each element."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Schedule
from tinydeploy.kernels.nest import shape_text, whole_access, whole_result
from tinydeploy.ops import AnySite
from tinydeploy.ops.base import is_float
from tinydeploy.ops.local_response_norm import LocalResponseNorm

INSTRUCTIONS_PER_TAP = 5
INSTRUCTIONS_PER_OUTPUT = 120


@dataclass(frozen=True, slots=True)
class LocalResponseNormParams(Params):
    rows: int
    channels: int
    before: int
    after: int
    alpha: float
    beta: float
    bias: float


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    attrs: LocalResponseNorm = site.attrs
    shape, elements = site.input(0).shape, site.input(0).elements
    params = LocalResponseNormParams(
        elements // shape[-1], shape[-1], attrs.before, attrs.after, attrs.alpha, attrs.beta, attrs.bias
    )
    taps = attrs.before + 1 + attrs.after
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"LocalResponseNorm over {taps} channels, {shape_text(shape)}",
        band=1,
        flat=True,
        operands=(0,),
        accesses=(whole_access(site, 0),),
        result=whole_result(site),
        constants=(),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=elements * (taps * INSTRUCTIONS_PER_TAP + INSTRUCTIONS_PER_OUTPUT),
    )


SCHEDULE = Schedule(
    name="local_response_norm/float",
    op=LocalResponseNorm,
    doc="float32 in plain C; own power function",
    applies=lambda site, _target: is_float(site),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=("td_rows.h", "td_math.h"),
)
