"""SVDF and the LSTM have TFLM's bits, over drawn parameters and several runs that share their state."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.golden.tflm import Tflm, random_inputs
from tests.recurrent_models import lstm, svdf
from tests.tflite_builder import ModelBuilder
from tinydeploy.frontends.tflite import load_bytes
from tinydeploy.ops.interpreter import Interpreter

RUNS = 5


def check(builder: ModelBuilder) -> None:
    data = builder.build()
    graph = load_bytes(data, "generated")
    oracle, interpreter = Tflm(data), Interpreter(graph)
    (output,) = builder.outputs or [builder.current]
    for number, inputs in enumerate(random_inputs(graph, RUNS, seed=11)):
        oracle.run(inputs)
        (got,) = interpreter.run(inputs)
        wanted = oracle.tensor(output).reshape(got.shape)
        np.testing.assert_array_equal(got, wanted, err_msg=f"run {number}")


@pytest.mark.parametrize("state", ["int8", "int16"])
@pytest.mark.parametrize("rank", [1, 2])
def test_svdf(state: str, rank: int) -> None:
    builder = ModelBuilder().input((1, 9), scale=0.05, zero_point=-7)
    zero_point = 21 if state == "int8" else 0
    scale = 0.11 if state == "int8" else 0.0004
    svdf(builder, 6, rank=rank, state=state, state_scale=scale, state_zero_point=zero_point, zero_point=-128)
    check(builder)


@st.composite
def filters(draw: st.DrawFn) -> ModelBuilder:
    state = draw(st.sampled_from(["int8", "int16"]))
    low, high = (0.02, 1.0) if state == "int8" else (1e-4, 5e-3)
    builder = ModelBuilder(draw(st.integers(0, 999))).input(
        (1, draw(st.integers(1, 12))),
        scale=draw(st.floats(0.01, 0.2)),
        zero_point=draw(st.integers(-128, 127)),
    )
    return svdf(
        builder,
        draw(st.integers(1, 5)),
        rank=draw(st.integers(1, 3)),
        memory=draw(st.integers(1, 7)),
        state=state,
        state_scale=draw(st.floats(low, high)),
        state_zero_point=draw(st.integers(-60, 60)) if state == "int8" else 0,
        weight_scales=(draw(st.floats(0.002, 0.05)), draw(st.floats(0.002, 0.05))),
        scale=draw(st.floats(0.01, 1.0)),
        zero_point=draw(st.integers(-128, 127)),
    )


@settings(max_examples=40, derandomize=True, deadline=None)
@given(filters())
def test_drawn_svdfs(builder: ModelBuilder) -> None:
    check(builder)


@pytest.mark.parametrize("cell_power", [-15, -12, -11, -10])
@pytest.mark.parametrize("time_major", [False, True])
def test_lstm(time_major: bool, cell_power: int) -> None:
    shape = (6, 1, 7) if time_major else (1, 6, 7)
    builder = ModelBuilder().input(shape, scale=0.05, zero_point=-7)
    check(lstm(builder, 5, time_major=time_major, cell_power=cell_power, hidden_zero_point=-4))


def test_lstm_of_several_sequences() -> None:
    check(lstm(ModelBuilder().input((3, 4, 7), scale=0.05), 5))


@st.composite
def cells(draw: st.DrawFn) -> ModelBuilder:
    shape = (1, draw(st.integers(1, 6)), draw(st.integers(1, 9)))
    builder = ModelBuilder(draw(st.integers(0, 999))).input(
        shape, scale=draw(st.floats(0.005, 0.3)), zero_point=draw(st.integers(-128, 127))
    )
    options: dict[str, Any] = {
        "cell_power": draw(st.integers(-15, -9)),
        "cell_clip": draw(st.sampled_from([0.0, 0.5, 10.0])),
        "hidden_scale": draw(st.floats(0.003, 0.01)),
        "hidden_zero_point": draw(st.integers(-60, 60)),
        "weight_scale": draw(st.floats(0.001, 0.05)),
    }
    return lstm(builder, draw(st.integers(1, 6)), **options)


@settings(max_examples=40, derandomize=True, deadline=None)
@given(cells())
def test_drawn_lstms(builder: ModelBuilder) -> None:
    check(builder)


def check_real(builder: ModelBuilder) -> None:
    data = builder.build()
    graph = load_bytes(data, "generated")
    oracle, interpreter = Tflm(data), Interpreter(graph)
    rng = np.random.default_rng(4)
    for _ in range(RUNS):
        sample = rng.normal(size=graph.type(graph.inputs[0]).shape).astype(np.float32)
        oracle.run([sample])
        (got,) = interpreter.run([sample])
        np.testing.assert_allclose(
            got, oracle.tensor(builder.current).reshape(got.shape), rtol=1e-5, atol=1e-6
        )


@pytest.mark.parametrize("time_major", [False, True])
def test_float_lstm(time_major: bool) -> None:
    for shape in ((1, 6, 7), (3, 2, 4)):
        builder = ModelBuilder().input(shape, dtype="float32", scale=None)
        check_real(lstm(builder, 5, time_major=time_major, real=True))
    builder = ModelBuilder().input((1, 9, 7), dtype="float32", scale=None)
    check_real(lstm(builder, 5, time_major=time_major, real=True, cell_clip=0.3))


def test_float_svdf() -> None:
    builder = ModelBuilder().input((1, 9), dtype="float32", scale=None)
    check_real(svdf(builder, 6, rank=2, state=None))
