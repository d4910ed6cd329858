"""Gru in plain C, float: one walk over time, update and reset gates before the candidate."""

from __future__ import annotations

from tinydeploy.kernels.recurrent.params import schedule
from tinydeploy.ops.gru import GATES, Gru

SCHEDULE = schedule(
    "recurrent/gru",
    Gru,
    GATES,
    "plain C, float; dot products per gate and step",
    lambda site: site.attrs.linear_before_reset,
)
