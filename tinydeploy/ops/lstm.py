"""Lstm: ONNX's LSTM, float32, with peepholes, clipping and coupled gates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs
from tinydeploy.ops.base import Operator, Site
from tinydeploy.ops.recurrent import (
    INITIAL,
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
    extents,
    infer,
    macs,
    optional,
    walked,
)

GATES = 4
PEEPHOLES = INITIAL + 2
ROLES = (
    "data",
    "weights",
    "recurrence",
    "bias?",
    "lengths?",
    "initial_h?",
    "initial_c?",
    "peepholes?",
)


@dataclass(frozen=True, slots=True)
class Lstm(Attrs):
    """Gates lie in the order input, output, forget, cell; peepholes in the order input, output, forget.

    ``activations`` are f, g and h of each direction: of the gates, of the candidate, of the cell. ``clip``
    bounds what goes into f and g, ``cell_clip`` the cell, as TFLite has it. With ``input_forget`` the forget
    gate is 1 minus the input gate. Without ``sequence`` the last states are the only results.
    """

    direction: Direction = Direction.FORWARD
    activations: tuple[Cell, ...] = (SIGMOID, TANH, TANH)
    clip: float | None = None
    sequence: bool = True
    input_forget: bool = False
    cell_clip: float | None = None


def _reference(site: Site[Lstm], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    attrs, size = site.attrs, extents(site)
    made = list(directs(site, arrays, 2))

    def advance(direction: int, x: Float64, states: tuple[Float64, ...]) -> tuple[Float64, ...]:
        direct, (hidden, cell) = made[direction], states
        f, g, h = cells(site, GATES, direction)
        bias = direct.input_bias + direct.recurrent_bias
        gates = x @ direct.weights.T + hidden @ direct.recurrence.T + bias
        in_, out, forget, new = np.split(gates, GATES, axis=1)
        p_in, p_out, p_forget = np.split(optional(arrays, PEEPHOLES, direction, (3 * size.hidden,)), 3)
        opened = activated(f, clipped(attrs.clip, in_ + p_in * cell))
        kept = 1 - opened
        if not attrs.input_forget:
            kept = activated(f, clipped(attrs.clip, forget + p_forget * cell))
        after = clipped(attrs.cell_clip, kept * cell + opened * activated(g, clipped(attrs.clip, new)))
        return activated(f, clipped(attrs.clip, out + p_out * after)) * activated(h, after), after

    return walked(site, arrays, tuple(direct.states for direct in made), advance)


OP = Operator(
    attrs=Lstm,
    roles=ROLES,
    doc="long short-term memory over a sequence: sequence (if asked for), last hidden state, last cell state",
    infer=lambda site: infer(site, 2),
    reference=_reference,
    macs=lambda site: macs(site, GATES),
    constraints=constraints(GATES, ROLES),
)
