"""Dequantize in plain C: one float product per element."""

from __future__ import annotations

from tinydeploy.kernels.base import Schedule
from tinydeploy.kernels.edge.params import edge_kernel, knobs_of
from tinydeploy.ops.dequantize import Dequantize
from tinydeploy.ops.quantized import quant_of

SCHEDULE = Schedule(
    name="edge/dequantize",
    op=Dequantize,
    doc="plain C; one float product per element",
    applies=lambda _site, _target: True,
    knobs=knobs_of,
    make=lambda site, knobs: edge_kernel(site, knobs, "edge/dequantize", quant_of(site.input(0)), 10),
    headers=("td_quantize.h", "td_rows.h"),
)
