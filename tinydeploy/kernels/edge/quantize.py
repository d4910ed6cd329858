"""Quantize in plain C: one float division per element."""

from __future__ import annotations

from tinydeploy.kernels.base import Schedule
from tinydeploy.kernels.edge.params import edge_kernel, knobs_of
from tinydeploy.ops.quantize import Quantize
from tinydeploy.ops.quantized import quant_of

SCHEDULE = Schedule(
    name="edge/quantize",
    op=Quantize,
    doc="plain C; one float division per element",
    applies=lambda _site, _target: True,
    knobs=knobs_of,
    make=lambda site, knobs: edge_kernel(site, knobs, "edge/quantize", quant_of(site.outputs[0]), 40),
    headers=("td_quantize.h", "td_rows.h"),
)
