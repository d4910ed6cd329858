"""Cases of Lstm, Gru, Rnn and Custom: one step of one unit, computed by hand."""

from __future__ import annotations

import dataclasses

import numpy as np

from tests.ops.making import Broken, Case, float32, int8, with_input
from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops import AnySite, Site
from tinydeploy.ops.custom import Custom, Definition
from tinydeploy.ops.gru import Gru
from tinydeploy.ops.lstm import Lstm
from tinydeploy.ops.recurrent import TANH, Direction
from tinydeploy.ops.rnn import Rnn


def _sound(attrs: Attrs, gates: int, states: int) -> AnySite:
    inputs = (float32(1, 1, 1), float32(1, gates, 1), float32(1, gates, 1))
    outputs = (float32(1, 1, 1, 1), *(float32(1, 1, 1),) * states)
    return Site("n", attrs, inputs, outputs, (None,) * 3)


def _broken(sound: AnySite, gates: int, functions: int) -> tuple[Broken, ...]:
    both = dataclasses.replace(sound.attrs, direction=Direction.BIDIRECTIONAL)
    fewer = dataclasses.replace(sound.attrs, activations=(TANH,) * 7)
    lengths = dataclasses.replace(
        sound, inputs=(*sound.inputs, None, TensorType(DType.INT32, (3,))), constants=(None,) * 5
    )
    return (
        Broken("all inputs are float32, lengths int32", "data int8", with_input(sound, 0, int8(1, 1, 1))),
        Broken("data, weights and recurrence have three", "[1, 1], [1,", with_input(sound, 0, float32(1, 1))),
        Broken(
            "there are weights for each direction",
            "1 for bidirectional",
            dataclasses.replace(sound, attrs=both),
        ),
        Broken("all inputs have the shapes that", "lengths [3] instead of [1]", lengths),
        Broken(
            "all inputs have the shapes that",
            f"weights [1, {gates}, 2] instead of [1, {gates}, 1]",
            with_input(sound, 1, float32(1, gates, 2)),
        ),
        Broken(f"there are {functions} activations", "7", dataclasses.replace(sound, attrs=fewer)),
    )


def _column(*numbers: float) -> Array:
    return np.array(numbers, np.float32).reshape(1, -1, 1)


def _sigmoid(x: float) -> float:
    return float(1 / (1 + np.exp(-x)))


def _state(value: float) -> Array:
    return np.full((1, 1, 1), value, np.float32)


_LSTM, _GRU, _RNN = _sound(Lstm(), 4, 2), _sound(Gru(), 3, 1), _sound(Rnn(), 1, 1)
_CELL = _sigmoid(1) * np.tanh(4)
_HIDDEN = _sigmoid(2) * np.tanh(_CELL)
_UPDATED = (1 - _sigmoid(1)) * np.tanh(3)
_DOUBLE = Definition(
    op="mine.Double",
    roles=("data", "bias?"),
    infer=lambda site: (site.input(0),),
    reference=lambda _site, data, _bias: data * 2,
    c="",
    macs=lambda site: site.input(0).elements,
)
_CUSTOM = Site("n", Custom(_DOUBLE), (float32(3),), (float32(3),), (None,))

CASES: dict[str, Case] = {
    "Lstm": Case(
        _LSTM,
        (_column(1), _column(1, 2, 3, 4), _column(9, 9, 9, 9)),
        _state(_HIDDEN)[None],
        8,
        _broken(_LSTM, 4, 3),
        (with_input(_LSTM, 0, float32(3)),),
        more=(_state(_HIDDEN), _state(_CELL)),
    ),
    "Gru": Case(
        _GRU,
        (_column(1), _column(1, 2, 3), _column(9, 9, 9)),
        _state(_UPDATED)[None],
        6,
        _broken(_GRU, 3, 2),
        (with_input(_GRU, 2, float32(3)),),
        more=(_state(_UPDATED),),
    ),
    "Rnn": Case(
        _RNN,
        (_column(1), _column(2), _column(9)),
        _state(np.tanh(2))[None],
        2,
        _broken(_RNN, 1, 1),
        (with_input(_RNN, 0, float32(3)),),
        more=(_state(np.tanh(2)),),
    ),
    "Custom": Case(
        _CUSTOM,
        (np.array([1, 2, -3], np.float32),),
        np.array([2, 4, -6], np.float32),
        3,
        (
            Broken(
                "the node has the inputs that the operator's definition names",
                "3 inputs given of data, bias?",
                dataclasses.replace(_CUSTOM, inputs=(float32(3),) * 3, constants=(None,) * 3),
            ),
        ),
    ),
}
