"""Quantize in plain C: one float division per element."""

from __future__ import annotations

from tinydeploy.fixed_point import Rounding
from tinydeploy.kernels.base import Kernel, Knobs, Schedule
from tinydeploy.kernels.edge.params import edge_kernel, knobs_of
from tinydeploy.ops import AnySite
from tinydeploy.ops.quantize import Quantize


def _make(site: AnySite, knobs: Knobs) -> Kernel:
    once = site.attrs.rounding is Rounding.HALF_EVEN
    function = "td_quantize_half_even" if once else "td_quantize"
    return edge_kernel(site, knobs, SCHEDULE.name, site.outputs[0], function, 40)


SCHEDULE = Schedule(
    name="edge/quantize",
    op=Quantize,
    doc="plain C; one float division per element",
    applies=lambda _site, _target: True,
    knobs=knobs_of,
    make=_make,
    headers=("td_quantize.h", "td_rows.h"),
)
