"""Rnn: ONNX's RNN, one gate, float32."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.ir import Array, Attrs
from tinydeploy.ops.base import Operator, Site
from tinydeploy.ops.recurrent import (
    TANH,
    Cell,
    Direction,
    Float64,
    activated,
    cells,
    clipped,
    constraints,
    directs,
    infer,
    macs,
    walked,
)

GATES = 1
ROLES = ("data", "weights", "recurrence", "bias?", "lengths?", "initial_h?")


@dataclass(frozen=True, slots=True)
class Rnn(Attrs):
    """``activations`` holds one for each direction; ``clip`` bounds what goes into it.

    Without ``sequence`` the last state is the only result.
    """

    direction: Direction = Direction.FORWARD
    activations: tuple[Cell, ...] = (TANH,)
    clip: float | None = None
    sequence: bool = True


def _reference(site: Site[Rnn], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    made = list(directs(site, arrays, 1))

    def advance(direction: int, x: Float64, states: tuple[Float64, ...]) -> tuple[Float64, ...]:
        direct, (hidden,) = made[direction], states
        (f,) = cells(site, GATES, direction)
        bias = direct.input_bias + direct.recurrent_bias
        total = x @ direct.weights.T + hidden @ direct.recurrence.T + bias
        return (activated(f, clipped(site.attrs.clip, total)),)

    return walked(site, arrays, tuple(direct.states for direct in made), advance)


OP = Operator(
    attrs=Rnn,
    roles=ROLES,
    doc="plain recurrent network over a sequence: sequence (if asked for), last hidden state",
    infer=lambda site: infer(site, 1),
    reference=_reference,
    macs=lambda site: macs(site, GATES),
    constraints=constraints(GATES, ROLES),
)
