"""Gru: ONNX's GRU, float32, with the reset gate before or after the recurrent product."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs
from tinydeploy.ops.base import Operator, Site
from tinydeploy.ops.recurrent import (
    SIGMOID,
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

GATES = 3
ROLES = ("data", "weights", "recurrence", "bias?", "lengths?", "initial_h?")


@dataclass(frozen=True, slots=True)
class Gru(Attrs):
    """Gates lie in the order update, reset, hidden.

    ``activations`` are f and g of each direction: of the gates and of the candidate. ``clip`` bounds what
    goes into them. With ``linear_before_reset`` the reset gate multiplies the recurrent product with its
    bias, as PyTorch and cuDNN have it, else the state that goes into the product. Without ``sequence`` the
    last state is the only result.
    """

    direction: Direction = Direction.FORWARD
    activations: tuple[Cell, ...] = (SIGMOID, TANH)
    clip: float | None = None
    sequence: bool = True
    linear_before_reset: bool = False


def _reference(site: Site[Gru], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    clip = site.attrs.clip
    made = list(directs(site, arrays, 1))

    def advance(direction: int, x: Float64, states: tuple[Float64, ...]) -> tuple[Float64, ...]:
        direct, (hidden,) = made[direction], states
        f, g = cells(site, GATES, direction)
        brought = x @ direct.weights.T + direct.input_bias
        update_in, reset_in, new_in = np.split(brought, GATES, axis=1)
        update_r, reset_r, new_r = np.split(direct.recurrence, GATES)
        update_bias, reset_bias, new_bias = np.split(direct.recurrent_bias, GATES)
        update = activated(f, clipped(clip, update_in + hidden @ update_r.T + update_bias))
        reset = activated(f, clipped(clip, reset_in + hidden @ reset_r.T + reset_bias))
        if site.attrs.linear_before_reset:
            recurrent = reset * (hidden @ new_r.T + new_bias)
        else:
            recurrent = (reset * hidden) @ new_r.T + new_bias
        new = activated(g, clipped(clip, new_in + recurrent))
        return ((1 - update) * new + update * hidden,)

    return walked(site, arrays, tuple(direct.states for direct in made), advance)


OP = Operator(
    attrs=Gru,
    roles=ROLES,
    doc="gated recurrent unit over a sequence: sequence (if asked for), last hidden state",
    infer=lambda site: infer(site, 1),
    reference=_reference,
    macs=lambda site: macs(site, GATES),
    constraints=constraints(GATES, ROLES),
)
