"""int16 activations and int4 weights: the numpy references have TFLM's bits, over drawn parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.golden.tflm import assert_same_tensors, random_inputs
from tests.tflite_builder import ModelBuilder
from tinydeploy.frontends.tflite import load_bytes

SAMPLES = 4


def check(builder: ModelBuilder, samples: int = SAMPLES) -> None:
    data = builder.build()
    graph = load_bytes(data, "generated")
    assert assert_same_tensors(data, graph, random_inputs(graph, samples, seed=11)) > 0


def wide(shape: tuple[int, ...] = (1, 6, 5, 4), scale: float = 0.001, **options: Any) -> ModelBuilder:
    return ModelBuilder(3, dtype="int16", **options).input(shape, scale=scale)


@pytest.mark.parametrize("bias", [None, "int32", "int64"])
@pytest.mark.parametrize("per_channel", [True, False])
def test_int16_dot_products(bias: str | None, per_channel: bool) -> None:
    """Sums with an int32 bias are scaled as those of int8 data are, others by 15 bits."""
    options: dict[str, Any] = {"bias": bias is not None, "per_channel": per_channel}
    builder = wide(bias=bias or "int64")
    for kernel, stride, padding, dilation in (
        ((3, 3), (1, 1), "SAME", (1, 1)),
        ((2, 3), (2, 1), "VALID", (1, 1)),
        ((3, 2), (1, 1), "SAME", (2, 1)),
    ):
        window: dict[str, Any] = {"stride": stride, "padding": padding, "dilation": dilation}
        builder.at(0).conv2d(5, kernel, activation="RELU", **window, **options).output()
        # TFLM reads an int32 bias of these as int64.
        if bias != "int32":
            builder.at(0).depthwise(2, kernel, activation="RELU6", **window, **options).output()
    if bias != "int32":
        builder.at(0).transpose_conv(3, (3, 2), stride=(2, 3), **options).output()
    builder.at(0).conv2d(4, groups=2, **options).output()
    builder.at(0).fully_connected(7, depth=20, **options).output()
    check(builder)


@pytest.mark.parametrize("op", ["ADD", "SUB", "MUL"])
def test_int16_arithmetic(op: str) -> None:
    for activation, scales in (
        ("NONE", (0.0005, 0.0005, 0.0011)),
        ("RELU6", (0.00021, 0.009, 0.007)),
        ("RELU", (0.013, 0.00004, 0.02)),
    ):
        builder = wide(scale=scales[0]).input((1, 1, 5, 1), scale=scales[1]).at(0)
        scale = scales[2] if op != "MUL" else scales[0] * scales[1] * 20000
        check(builder.binary(op, 1, activation=activation, scale=scale))


def test_int16_extremes_and_moves() -> None:
    builder = wide()
    other = builder.constant((1, 1, 5, 4), scale=0.001)
    builder.at(0).binary("MAXIMUM", other, scale=0.001).output()
    builder.at(0).binary("MINIMUM", other, scale=0.001).output()
    builder.at(0).concatenate([0], 1).output()
    builder.at(0).move("PAD", (1, 9, 5, 4), [[0, 0], [1, 2], [0, 0], [0, 0]]).output()
    check(builder)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_int16_pools(padding: str) -> None:
    builder = wide((1, 9, 8, 3))
    for size, stride in (((2, 2), (2, 2)), ((3, 4), (1, 2)), ((9, 8), (1, 1))):
        for op in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
            builder.at(0).pool(op, size, stride=stride, padding=padding, activation="RELU6").output()
    check(builder)


def every_step(scale: float) -> tuple[ModelBuilder, list[list[np.ndarray]]]:
    """A model of 65,536 elements and the sample that holds each step once."""
    builder = ModelBuilder(dtype="int16").input((1, 1 << 16), scale=scale)
    return builder, [[np.arange(-(1 << 15), 1 << 15).astype(np.int16).reshape(1, -1)]]


@pytest.mark.parametrize("scale", [2.0**-13, 2.0**-12, 2.0**-11, 0.00007, 0.0003, 0.02])
def test_int16_sigmoids(scale: float) -> None:
    builder, samples = every_step(scale)
    builder.unary("LOGISTIC", scale=1 / 32768).output().at(0).unary("TANH", scale=1 / 32768).output()
    data = builder.build()
    assert assert_same_tensors(data, load_bytes(data, "generated"), samples) == 2


@pytest.mark.parametrize("scale", [0.0003, 0.017])
def test_int16_functions_of_one_element(scale: float) -> None:
    builder, samples = every_step(scale)
    for ratio in (1.0, 1.37, 0.31):
        for alpha in (0.0, 0.1, 1.7):
            options = schema.LeakyReluOptionsT(alpha=alpha)
            builder.at(0).unary("LEAKY_RELU", options, scale=scale * ratio).output()
    for dtype, ratio, zero_point in (("int16", 1.4, 0), ("int8", 190.0, -7), ("int32", 1.0, 0)):
        builder.at(0).unary("QUANTIZE", dtype=dtype, scale=scale * ratio, zero_point=zero_point).output()
    data = builder.build()
    assert assert_same_tensors(data, load_bytes(data, "generated"), samples) == 12


def test_quantize_from_int8_and_int32() -> None:
    builder = ModelBuilder().input((1, 256), scale=0.05, zero_point=-3)
    builder.unary("QUANTIZE", dtype="int16", scale=0.0007).output()
    builder.at(0).unary("QUANTIZE", dtype="int32", scale=0.05).output()
    rng = np.random.default_rng(0)
    data = builder.build()
    samples = [[np.arange(-128, 128).astype(np.int8).reshape(1, 256)]]
    assert assert_same_tensors(data, load_bytes(data, "generated"), samples) == 2
    builder = ModelBuilder().input((1, 99), dtype="int32", scale=1e-8)
    builder.unary("QUANTIZE", dtype="int16", scale=0.0007).output()
    builder.at(0).unary("QUANTIZE", dtype="int8", scale=0.12, zero_point=5).output()
    data = builder.build()
    samples = [[rng.integers(-(1 << 31), 1 << 31, (1, 99)).astype(np.int32)]]
    assert assert_same_tensors(data, load_bytes(data, "generated"), samples) == 2


@pytest.mark.parametrize(("scale", "depth"), [(0.0003, 10), (0.001, 100), (0.01, 1000)])
def test_int16_softmax(scale: float, depth: int) -> None:
    check(wide((4, depth), scale=scale).softmax().output().at(0).softmax(beta=0.5).output())


@pytest.mark.parametrize("depth", [3, 200])
def test_softmax_of_int8_as_int16(depth: int) -> None:
    for scale in (0.02, 0.2, 1.3):
        builder = ModelBuilder().input((4, depth), scale=scale, zero_point=9)
        result = builder.tensor((4, depth), dtype="int16", scale=1 / 65536, zero_point=-32768)
        check(builder.operator("SOFTMAX", [0], [result], schema.SoftmaxOptionsT(beta=1.0)))


@pytest.mark.parametrize("flags", [(False, False), (True, True)])
def test_int16_matrix_products(flags: tuple[bool, bool]) -> None:
    for a, b in (((2, 3, 4, 7), (1, 3, 7, 5)), ((4, 70), (70, 5))):
        shapes = [
            (*shape[:-2], shape[-1], shape[-2]) if exchanged else shape
            for shape, exchanged in zip((a, b), flags, strict=True)
        ]
        builder = wide(shapes[0], scale=0.0003).input(shapes[1], scale=0.0011).at(0)
        builder.batch_matmul(1, adj_x=flags[0], adj_y=flags[1], scale=0.04)
        check(builder)


@pytest.mark.parametrize("per_channel", [True, False])
def test_int4_weights(per_channel: bool) -> None:
    builder = ModelBuilder(5, weights="int4").input((1, 6, 5, 3), scale=0.05, zero_point=-11)
    options: dict[str, Any] = {"per_channel": per_channel, "zero_point": 4}
    builder.conv2d(5, (3, 3), stride=(2, 1), activation="RELU", **options).output()
    builder.at(0).conv2d(3, (1, 1), bias=False, **options).output()
    builder.at(0).depthwise(1, (3, 2), **options).output()
    builder.at(0).depthwise(3, (2, 3), padding="VALID", **options).output()
    # TFLM has these with one scale only.
    builder.at(0).fully_connected(7, depth=15, zero_point=4).output()
    check(builder)


@st.composite
def networks(draw: st.DrawFn) -> ModelBuilder:
    """Operators on one int16 image, with drawn scales and shapes."""
    shape = (1, draw(st.integers(1, 7)), draw(st.integers(1, 7)), draw(st.integers(1, 5)))
    scale = draw(st.floats(1e-5, 1e-2))
    bias = draw(st.sampled_from(["int32", "int64"]))
    builder = ModelBuilder(draw(st.integers(0, 999)), dtype="int16", bias=bias).input(shape, scale=scale)
    kernel = draw(st.tuples(st.integers(1, 4), st.integers(1, 4)))
    options: dict[str, Any] = {
        "stride": draw(st.tuples(st.integers(1, 3), st.integers(1, 3))),
        "activation": draw(st.sampled_from(["NONE", "RELU", "RELU6"])),
        "weight_scale": draw(st.sampled_from([0.001, 0.1, 2.0])),
    }
    builder.conv2d(draw(st.integers(1, 6)), kernel, **options).output()
    if bias == "int64":
        builder.at(0).depthwise(draw(st.integers(1, 3)), kernel, **options).output()
    for op in ("ADD", "SUB", "MUL"):
        other = draw(st.floats(1e-5, 1e-2))
        extents = [draw(st.sampled_from([1, extent])) for extent in shape[1:]]
        constant = builder.constant((1, *extents), scale=other)
        result = scale * other * 2.0**15 if op == "MUL" else max(scale, other)
        builder.at(0).binary(op, constant, scale=result * draw(st.floats(0.6, 3.0))).output()
    slope = schema.LeakyReluOptionsT(alpha=draw(st.floats(0, 2)))
    return builder.at(0).unary("LEAKY_RELU", slope, scale=scale * draw(st.floats(0.6, 3.0))).output()


@settings(max_examples=40, derandomize=True, deadline=None)
@given(networks())
def test_drawn_networks(builder: ModelBuilder) -> None:
    check(builder, samples=3)
