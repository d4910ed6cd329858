"""Lstm in plain C, float: one walk over time, all gates of a step before any of its states."""

from __future__ import annotations

from tinydeploy.kernels.recurrent.params import schedule
from tinydeploy.ops.lstm import GATES, Lstm

SCHEDULE = schedule(
    "recurrent/lstm",
    Lstm,
    GATES,
    "plain C, float; dot products per gate and step",
    lambda site: site.attrs.input_forget,
)
