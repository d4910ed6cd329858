"""Rnn in plain C, float: one walk over time."""

from __future__ import annotations

from tinydeploy.kernels.recurrent.params import schedule
from tinydeploy.ops.rnn import GATES, Rnn

SCHEDULE = schedule(
    "recurrent/rnn", Rnn, GATES, "plain C, float; dot products per unit and step", lambda _site: False
)
