"""What Lstm, Gru and Rnn share: directions, activations, shapes, the walk over time.

Data is [T, B, I] (time, batch, input), weights [D, G*H, I] and recurrence [D, G*H, H] for D directions, G
gates and H hidden units, bias [D, 2*G*H]: first that of the input, then that of the recurrence. A run gives
the sequence [T, D, B, H], unless the attribute ``sequence`` says that nobody reads it, and the last states
[D, B, H]. Semantics and gate orders are ONNX's
(operators LSTM, GRU, RNN of opset 22); a layout with the batch first is turned at import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np
import numpy.typing as npt

from tinydeploy.ir import Array, DType, TensorType
from tinydeploy.ops.base import AnyConstraint, AnySite, Constraint, operand

Float64 = npt.NDArray[np.float64]


class Direction(Enum):
    """Which way time is walked."""

    FORWARD = "forward"
    REVERSE = "reverse"
    BIDIRECTIONAL = "bidirectional"

    @property
    def reversed(self) -> tuple[bool, ...]:
        """For each direction whether it walks from the end."""
        return {
            Direction.FORWARD: (False,),
            Direction.REVERSE: (True,),
            Direction.BIDIRECTIONAL: (False, True),
        }[self]


class CellFunction(Enum):
    """Activations of cells; the value is ONNX's name."""

    AFFINE = "Affine"
    ELU = "Elu"
    HARD_SIGMOID = "HardSigmoid"
    LEAKY_RELU = "LeakyRelu"
    RELU = "Relu"
    SCALED_TANH = "ScaledTanh"
    SIGMOID = "Sigmoid"
    SOFTPLUS = "Softplus"
    SOFTSIGN = "Softsign"
    TANH = "Tanh"
    THRESHOLDED_RELU = "ThresholdedRelu"


Cell = tuple[CellFunction, float, float]
"""An activation with its alpha and beta, 0 where it has none."""

SIGMOID: Cell = (CellFunction.SIGMOID, 0.0, 0.0)
TANH: Cell = (CellFunction.TANH, 0.0, 0.0)

LENGTHS = 4
INITIAL = 5
"""Inputs 0 to 3 are data, weights, recurrence and bias; then lengths and the initial state."""


def sigmoid(x: Float64) -> Float64:
    """The logistic function without overflow."""
    return np.asarray(np.exp(-np.logaddexp(0.0, -x)))


def activated(cell: Cell, x: Float64) -> Float64:
    """A cell's activation in float64."""
    function, alpha, beta = cell
    table: dict[CellFunction, Callable[[], Any]] = {
        CellFunction.AFFINE: lambda: alpha * x + beta,
        CellFunction.ELU: lambda: np.where(x >= 0, x, alpha * np.expm1(np.minimum(x, 0))),
        CellFunction.HARD_SIGMOID: lambda: np.clip(alpha * x + beta, 0, 1),
        CellFunction.LEAKY_RELU: lambda: np.where(x >= 0, x, alpha * x),
        CellFunction.RELU: lambda: np.maximum(x, 0),
        CellFunction.SCALED_TANH: lambda: alpha * np.tanh(beta * x),
        CellFunction.SIGMOID: lambda: sigmoid(x),
        CellFunction.SOFTPLUS: lambda: np.logaddexp(0, x),
        CellFunction.SOFTSIGN: lambda: x / (1 + np.abs(x)),
        CellFunction.TANH: lambda: np.tanh(x),
        CellFunction.THRESHOLDED_RELU: lambda: np.where(x >= alpha, x, 0),
    }
    return np.asarray(table[function](), np.float64)


def clipped(clip: float | None, x: Float64) -> Float64:
    """What goes into an activation: at most ``clip`` away from zero."""
    return x if clip is None else np.clip(x, -clip, clip)


@dataclass(frozen=True, slots=True)
class Extents:
    """The sizes of a recurrent node."""

    steps: int
    batch: int
    inputs: int
    directions: int
    hidden: int


def extents(site: AnySite) -> Extents:
    """The sizes of a node whose constraints hold."""
    steps, batch, inputs = site.input(0).shape
    directions, _, hidden = site.input(2).shape
    return Extents(steps, batch, inputs, directions, hidden)


def infer(site: AnySite, states: int) -> tuple[TensorType, ...]:
    """The types of the sequence, if it is asked for, and of ``states`` last states."""
    steps, batch, _ = site.input(0).shape
    directions, _, hidden = site.input(2).shape
    state = TensorType(DType.FLOAT32, (directions, batch, hidden))
    sequence = (TensorType(DType.FLOAT32, (steps, *state.shape)),) if site.attrs.sequence else ()
    return (*sequence, *(state,) * states)


def macs(site: AnySite, gates: int) -> int:
    """Of both matrix products of every gate, in every step."""
    size = extents(site)
    per_step = gates * size.hidden * (size.inputs + size.hidden)
    return size.steps * size.batch * size.directions * per_step


@dataclass(frozen=True, slots=True)
class Direct:
    """One direction of a node as float64: its matrices, its two biases, its states [B, H]."""

    weights: Float64
    recurrence: Float64
    input_bias: Float64
    recurrent_bias: Float64
    states: tuple[Float64, ...]


def directs(site: AnySite, arrays: tuple[Array | None, ...], states: int) -> Iterator[Direct]:
    """The directions in order; absent biases and initial states are zero."""
    size = extents(site)
    for direction in range(size.directions):
        weights = operand(arrays, 1)[direction].astype(np.float64)
        bias = optional(arrays, 3, direction, (2 * len(weights),))
        yield Direct(
            weights,
            operand(arrays, 2)[direction].astype(np.float64),
            bias[: len(weights)],
            bias[len(weights) :],
            tuple(
                optional(arrays, INITIAL + state, direction, (size.batch, size.hidden))
                for state in range(states)
            ),
        )


def optional(arrays: tuple[Array | None, ...], index: int, direction: int, shape: tuple[int, ...]) -> Float64:
    """One direction of an optional input, zeros where it is absent."""
    array = arrays[index] if index < len(arrays) else None
    return np.zeros(shape) if array is None else array[direction].astype(np.float64)


Advance = Callable[[int, Float64, tuple[Float64, ...]], tuple[Float64, ...]]
"""From the direction, the input [B, I] and the states [B, H] to the next states; the first is given out."""


def walked(
    site: AnySite,
    arrays: tuple[Array | None, ...],
    start: tuple[tuple[Float64, ...], ...],
    advance: Advance,
) -> tuple[Array, ...]:
    """The outputs of a node whose cells ``advance``, from the states ``start`` of each direction.

    A sequence that ends early (``lengths``) keeps its state from there on and gives out zeros; a reversed
    direction starts at its end. Lengths count as at least 0 and at most T.
    """
    size = extents(site)
    data = operand(arrays, 0).astype(np.float64)
    given = arrays[LENGTHS] if len(arrays) > LENGTHS else None
    lengths = np.full(size.batch, size.steps) if given is None else np.clip(given, 0, size.steps)
    sequence = np.zeros((size.steps, size.directions, size.batch, size.hidden))
    last: list[tuple[Float64, ...]] = []
    rows = np.arange(size.batch)
    for direction, backward in enumerate(site.attrs.direction.reversed):
        states = start[direction]
        for step in range(size.steps):
            active = step < lengths
            time = np.where(active, lengths - 1 - step if backward else step, step)
            made = advance(direction, data[time, rows], states)
            states = tuple(np.where(active[:, None], new, old) for new, old in zip(made, states, strict=True))
            sequence[time, direction, rows] = np.where(active[:, None], states[0], 0)
        last.append(states)
    results = [np.stack(state) for state in zip(*last, strict=True)]
    if site.attrs.sequence:
        results.insert(0, sequence)
    return tuple(result.astype(np.float32) for result in results)


def constraints(gates: int, roles: tuple[str, ...]) -> tuple[AnyConstraint, ...]:
    """What every recurrent operator asks of its inputs; ``roles`` names them."""

    def shapes(site: AnySite) -> dict[int, tuple[int, ...]]:
        size = extents(site)
        rows, state = gates * size.hidden, (size.directions, size.batch, size.hidden)
        return {
            1: (size.directions, rows, size.inputs),
            2: (size.directions, rows, size.hidden),
            3: (size.directions, 2 * rows),
            LENGTHS: (size.batch,),
            INITIAL: state,
            INITIAL + 1: state,
            INITIAL + 2: (size.directions, 3 * size.hidden),
        }

    def wrong(site: AnySite) -> list[str]:
        return [
            f"{roles[index].rstrip('?')} {list(site.input(index).shape)} instead of {list(shape)}"
            for index, shape in shapes(site).items()
            if site.has(index) and site.input(index).shape != shape
        ]

    def others(site: AnySite) -> list[str]:
        return [
            f"{roles[index].rstrip('?')} {type_.dtype.value}"
            for index, type_ in enumerate(site.inputs)
            if type_ is not None
            and (type_.dtype is not (DType.INT32 if index == LENGTHS else DType.FLOAT32) or type_.quant)
        ]

    return (
        Constraint(
            "all inputs are float32, lengths int32",
            lambda site: not others(site),
            lambda site: ", ".join(others(site)),
            "leave the operator in float, or quantize it with tinydeploy quantize",
            gate=True,
        ),
        Constraint(
            "data, weights and recurrence have three dimensions",
            lambda site: all(len(site.input(index).shape) == 3 for index in range(3)),
            lambda site: ", ".join(str(list(site.input(index).shape)) for index in range(3)),
            "export the model again",
            gate=True,
        ),
        Constraint(
            "there are weights for each direction",
            lambda site: site.input(2).shape[0] == len(site.attrs.direction.reversed),
            lambda site: f"{site.input(2).shape[0]} for {site.attrs.direction.value}",
            "export the model again",
            gate=True,
        ),
        Constraint(
            "all inputs have the shapes that data and recurrence imply",
            lambda site: not wrong(site),
            lambda site: ", ".join(wrong(site)),
            "export the model again",
        ),
        Constraint(
            f"there are {per_direction(gates)} activations for each direction",
            lambda site: len(site.attrs.activations) == per_direction(gates) * site.input(2).shape[0],
            lambda site: f"{len(site.attrs.activations)}",
            "export the model again",
        ),
    )


def per_direction(gates: int) -> int:
    """Activations of a cell: f, g and h of an LSTM, f and g of a GRU, f of an RNN."""
    return {4: 3, 3: 2, 1: 1}[gates]


def cells(site: AnySite, gates: int, direction: int) -> tuple[Cell, ...]:
    """The activations of one direction."""
    count = per_direction(gates)
    found: tuple[Cell, ...] = site.attrs.activations[direction * count : (direction + 1) * count]
    return found
