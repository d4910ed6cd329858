"""Cases of TFLite's operators with a state: Svdf and LstmTflite, one unit, computed by hand."""

from __future__ import annotations

import dataclasses

import numpy as np

from tests.ops.making import Broken, Case, float32, int8, with_input
from tinydeploy.ir import Array, DType, Quant, TensorType
from tinydeploy.ops import AnySite, Site
from tinydeploy.ops.lstm_tflite import CELL, HIDDEN, WEIGHTS, LstmTflite
from tinydeploy.ops.svdf import STATE, Svdf

_BIAS = TensorType(DType.INT32, (1,))


def _cell(scale: float) -> TensorType:
    return TensorType(DType.INT16, (1, 1), Quant((scale,), (0,)))


def _svdf() -> AnySite:
    """The dot product is 5; memory 4, 3 becomes 3, 5; 3 * 1 + 5 * 2 + 1 is 14, half of it is the output."""
    inputs = (int8(1, 2), int8(1, 2), int8(1, 2), int8(1, 2, scale=0.25), _BIAS)
    outputs = (int8(1, 1, scale=0.25), int8(1, 2, scale=0.25))
    constants: tuple[Array | None, ...] = (
        None,
        np.array([[2, -1]], np.int8),
        np.array([[1, 2]], np.int8),
        None,
        np.array([1], np.int32),
    )
    return Site("n", Svdf(1), inputs, outputs, constants)


def _real(sound: AnySite) -> AnySite:
    inputs = tuple(None if type_ is None else float32(*type_.shape) for type_ in sound.inputs)
    outputs = tuple(float32(*type_.shape) for type_ in sound.outputs)
    return dataclasses.replace(sound, inputs=inputs, outputs=outputs, constants=(None,) * len(inputs))


def _lstm() -> AnySite:
    """Without any weights the gates are half open: half of a cell of 1.0 is kept, half of its tanh shown."""
    weights = (int8(1, 1),) * 8
    hidden = int8(1, 1, scale=1 / 128)
    inputs = (int8(1, 1, 1), *weights, *(_BIAS,) * 4, hidden, _cell(2.0**-12))
    zeros: tuple[Array | None, ...] = (np.zeros((1, 1), np.int8),) * 8
    constants = (None, *zeros, *(np.zeros(1, np.int32),) * 4, None, None)
    outputs = (int8(1, 1, 1, scale=1 / 128), hidden, _cell(2.0**-12))
    return Site("n", LstmTflite(), inputs, outputs, constants)


def _with_cell(sound: AnySite, cell: TensorType) -> AnySite:
    return dataclasses.replace(with_input(sound, CELL, cell), outputs=(*sound.outputs[:2], cell))


_SVDF, _LSTM = _svdf(), _lstm()
_HUGE = with_input(_SVDF, 4, _BIAS, np.array([2**31 - 1], np.int32))
_WEIGHT = int8(1, 1, scale=1e6)

CASES: dict[str, Case] = {
    "Svdf": Case(
        _SVDF,
        (np.array([[3, 1]], np.int8), np.array([[4, 3]], np.int8)),
        np.array([[7]], np.int8),
        4,
        (
            Broken(
                "features, times, bias and state have", "rank 0", dataclasses.replace(_SVDF, attrs=Svdf(0))
            ),
            Broken(
                "without quantization, all operands are float32",
                "int32[1, 2] not quantized",
                with_input(_real(_SVDF), 0, TensorType(DType.INT32, (1, 2))),
            ),
            Broken(
                "data, features and output are int8",
                "float32[1, 2] not quantized",
                with_input(_SVDF, STATE, float32(1, 2)),
            ),
            Broken("no sum of products, brought to the scale", "factors ((", _HUGE),
        ),
        more=(np.array([[3, 5]], np.int8),),
    ),
    "LstmTflite": Case(
        _LSTM,
        (np.array([[[0]]], np.int8), np.array([[0]], np.int8), np.array([[4096]], np.int16)),
        np.array([[[30]]], np.int8),
        8,
        (
            Broken("weights, biases and states have", "[2, 1]", with_input(_LSTM, HIDDEN, int8(2, 1))),
            Broken("data, hidden state, result", "float32[1, 1]", with_input(_LSTM, WEIGHTS, float32(1, 1))),
            Broken("the cell's scale is a power of two", "0.3", _with_cell(_LSTM, _cell(0.3))),
            Broken(
                "no sum of products, brought to its scale",
                "factors Factors(",
                with_input(_LSTM, WEIGHTS, _WEIGHT, np.full((1, 1), 127, np.int8)),
            ),
        ),
        more=(np.array([[30]], np.int8), np.array([[2048]], np.int16)),
    ),
}
