"""Dequantize in plain C: one float product per element."""

from __future__ import annotations

from tinydeploy.kernels.base import Schedule
from tinydeploy.kernels.edge.params import C_STEPS, edge_kernel, knobs_of
from tinydeploy.ops.dequantize import Dequantize

SCHEDULE = Schedule(
    name="edge/dequantize",
    op=Dequantize,
    doc="plain C; one float product per element",
    applies=lambda site, _target: site.input(0).dtype in C_STEPS,
    knobs=knobs_of,
    make=lambda site, knobs: edge_kernel(site, knobs, "edge/dequantize", site.input(0), "td_dequantize", 10),
    headers=("td_quantize.h", "td_rows.h"),
)
