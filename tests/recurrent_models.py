"""TFLite operators with state in files that tests build: SVDF and the LSTM, integer and float."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from ai_edge_litert import schema_py_generated as schema  # type: ignore[import-untyped]

from tests.tflite_builder import ACTIVATIONS, ModelBuilder

GATES = 4


def variable(
    builder: ModelBuilder, shape: Sequence[int], dtype: str, scale: float | None, zero_point: int = 0
) -> int:
    index = builder.tensor(shape, dtype=dtype, scale=scale, zero_point=zero_point)
    builder.tensors[index].isVariable = True
    return index


def _drawn(builder: ModelBuilder, shape: Sequence[int], scale: float | None, dtype: str = "int8") -> int:
    """Weights; real ones where there is no scale."""
    if scale is None:
        numbers: npt.NDArray[np.generic] = builder.rng.normal(0.0, 0.4, tuple(shape)).astype(np.float32)
        return builder.tensor(shape, dtype="float32", scale=None, data=numbers)
    steps = builder.rng.integers(-127, 128, tuple(shape)).astype(dtype)
    return builder.tensor(shape, dtype=dtype, scale=scale, data=steps)


def _bias(builder: ModelBuilder, units: int, scale: float | None, spread: float = 2000.0) -> int:
    if scale is None:
        return _drawn(builder, (units,), None)
    numbers = builder.rng.normal(0.0, spread, units).astype(np.int32)
    return builder.tensor((units,), dtype="int32", scale=scale, data=numbers)


def svdf(
    builder: ModelBuilder,
    units: int,
    *,
    rank: int = 1,
    memory: int = 5,
    state: str | None = "int8",
    state_scale: float = 0.1,
    state_zero_point: int = 0,
    weight_scales: tuple[float, float] = (0.01, 0.02),
    bias: bool = True,
    scale: float = 0.05,
    zero_point: int = 0,
) -> ModelBuilder:
    """An SVDF of the newest tensor; float32 where ``state`` is None."""
    batch, inputs = builder.shape()
    filters = units * rank
    real = state is None
    scales = (None, None) if real else weight_scales
    features = _drawn(builder, (filters, inputs), scales[0])
    times = _drawn(builder, (filters, memory), scales[1], state or "float32")
    terms = _bias(builder, units, None if real else state_scale * weight_scales[1], 300.0) if bias else -1
    kept = variable(
        builder,
        (batch, filters * memory),
        state or "float32",
        None if real else state_scale,
        state_zero_point,
    )
    result = builder.tensor(
        (batch, units),
        dtype="float32" if real else "int8",
        scale=None if real else scale,
        zero_point=0 if real else zero_point,
    )
    options = schema.SVDFOptionsT(rank=rank, fusedActivationFunction=ACTIVATIONS["RELU"])
    return builder.operator("SVDF", [builder.current, features, times, terms, kept], [result], options)


def lstm(
    builder: ModelBuilder,
    units: int,
    *,
    time_major: bool = False,
    real: bool = False,
    cell_power: int = -12,
    cell_clip: float = 0.0,
    hidden_scale: float = 1 / 128,
    hidden_zero_point: int = 0,
    weight_scale: float = 0.01,
) -> ModelBuilder:
    """A UNIDIRECTIONAL_SEQUENCE_LSTM of the newest tensor, [B, T, I] or [T, B, I]."""
    source = builder.current
    shape = builder.shape()
    batch = shape[1 if time_major else 0]

    def scales() -> list[float | None]:
        drawn = weight_scale * builder.rng.uniform(0.5, 1.0, GATES)
        return [None if real else float(scale) for scale in drawn]

    weight_scales = scales()
    weights = [_drawn(builder, (units, shape[2]), scale) for scale in weight_scales]
    recurrent = [_drawn(builder, (units, units), scale) for scale in scales()]
    biases = [
        _bias(builder, units, None if scale is None else scale * builder.scale(source))
        for scale in weight_scales
    ]
    kind = "float32" if real else "int8"
    hidden = variable(builder, (batch, units), kind, None if real else hidden_scale, hidden_zero_point)
    cell = variable(
        builder, (batch, units), "float32" if real else "int16", None if real else 2.0**cell_power
    )
    result = builder.tensor(
        (*shape[:2], units),
        dtype=kind,
        scale=None if real else hidden_scale,
        zero_point=0 if real else hidden_zero_point,
    )
    inputs = [source, *weights, *recurrent, -1, -1, -1, *biases, -1, -1, hidden, cell, -1, -1, -1, -1]
    options = schema.UnidirectionalSequenceLSTMOptionsT(
        fusedActivationFunction=ACTIVATIONS["TANH"], cellClip=cell_clip, timeMajor=time_major
    )
    builder.operator("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [result], options)
    if not real:
        effective = builder.tensor((0,), scale=hidden_scale, zero_point=hidden_zero_point)
        gates = [builder.tensor((0,), dtype="float32", scale=None) for _ in range(GATES)]
        builder.operators[-1].intermediates = [*gates, effective]
        builder.at(result)
    return builder
