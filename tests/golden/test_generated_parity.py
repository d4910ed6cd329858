"""The numpy reference has TFLM's bits on generated models: every operator over a grid, and drawn ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.golden.tflm import assert_same_tensors, random_inputs
from tests.tflite_builder import ModelBuilder
from tinydeploy.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from tinydeploy.frontends.tflite import load_bytes

SAMPLES = 6
Build = Callable[[ModelBuilder], ModelBuilder]


def check(builder: ModelBuilder, samples: int = SAMPLES) -> None:
    data = builder.build()
    graph = load_bytes(data, "generated")
    assert assert_same_tensors(data, graph, random_inputs(graph, samples, seed=11)) > 0


def image(seed: int = 0, height: int = 9, width: int = 8, channels: int = 3) -> ModelBuilder:
    return ModelBuilder(seed).input((1, height, width, channels), scale=0.037, zero_point=-11)


@pytest.mark.parametrize("activation", ["NONE", "RELU", "RELU6", "RELU_N1_TO_1"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(
    ("kernel", "stride", "dilation"),
    [
        ((1, 1), (1, 1), (1, 1)),
        ((3, 3), (1, 1), (1, 1)),
        ((3, 3), (2, 2), (1, 1)),
        ((4, 2), (2, 3), (1, 1)),
        ((3, 2), (1, 1), (2, 3)),
        ((1, 1), (3, 2), (1, 1)),
        ((2, 5), (3, 1), (2, 1)),
    ],
)
@pytest.mark.parametrize("op", ["conv2d", "depthwise"])
def test_convolutions(
    op: str,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int],
    padding: str,
    activation: str,
) -> None:
    builder = image()
    getattr(builder, op)(
        4, kernel, stride=stride, dilation=dilation, padding=padding, activation=activation, zero_point=9
    )
    check(builder)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("per_channel", [True, False])
@pytest.mark.parametrize(
    "build",
    [
        lambda b, **options: b.conv2d(5, **options),
        lambda b, **options: b.conv2d(1, (9, 8), padding="VALID", **options),
        lambda b, **options: b.depthwise(1, **options),
        lambda b, **options: b.depthwise(3, **options),
        lambda b, **options: b.fully_connected(7, **options),
        lambda b, **options: b.fully_connected(1, depth=216, **options),
        lambda b, **options: b.fully_connected(4, keep_dims=True, activation="RELU6", **options),
    ],
)
def test_scales_and_bias(build: Callable[..., ModelBuilder], per_channel: bool, bias: bool) -> None:
    check(build(image(), per_channel=per_channel, bias=bias, zero_point=-5))


@pytest.mark.parametrize("activation", ["NONE", "RELU", "RELU6"])
@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(
    ("size", "stride"), [((2, 2), (2, 2)), ((3, 4), (1, 2)), ((9, 8), (1, 1)), ((5, 5), (3, 3))]
)
def test_average_pool(size: tuple[int, int], stride: tuple[int, int], padding: str, activation: str) -> None:
    check(image().average_pool(size, stride=stride, padding=padding, activation=activation))


@pytest.mark.parametrize("activation", ["NONE", "RELU", "RELU6", "RELU_N1_TO_1"])
@pytest.mark.parametrize("scales", [(0.1, 0.1), (0.02, 0.9), (3.0, 0.004)])
def test_add_of_two_inputs(scales: tuple[float, float], activation: str) -> None:
    builder = ModelBuilder().input((1, 5, 3), scale=scales[0], zero_point=-128)
    first = builder.current
    check(builder.input((1, 5, 3), scale=scales[1], zero_point=127).add(first, activation=activation))


@pytest.mark.parametrize("beta", [1.0, 0.3, 2.5])
@pytest.mark.parametrize("scale", [0.004, 0.1, 1.0, 9.0])
@pytest.mark.parametrize("shape", [(1, 2), (3, 12), (1, 2, 3, 5), (1, 300)])
def test_softmax(shape: tuple[int, ...], scale: float, beta: float) -> None:
    check(ModelBuilder().input(shape, scale=scale, zero_point=17).softmax(beta=beta))


@pytest.mark.parametrize("given", ["tensor", "options", "nowhere"])
@pytest.mark.parametrize("shape", [(1, 216), (-1, 8), (1, 1, 216), (216,), (27, -1, 2)])
def test_reshape(shape: tuple[int, ...], given: str) -> None:
    check(image().reshape(shape, given=given))


def test_a_whole_network() -> None:
    builder = image(height=16, width=12).conv2d(8, stride=(2, 2), activation="RELU6", zero_point=-128)
    source = builder.current
    builder.depthwise(1, activation="RELU", zero_point=-128).conv2d(8, (1, 1)).add(source, zero_point=3)
    builder.average_pool((8, 6)).reshape((1, 8)).fully_connected(5).softmax()
    check(builder)


@pytest.mark.parametrize("op", ["conv2d", "depthwise", "fully_connected"])
def test_the_31_bit_multiplier_comes_from_float64_scales(op: str) -> None:
    """Sums for which a product of scales in float32 would give another step; the bias alone makes them."""
    input_scale, weight_scale = (float(np.float32(scale)) for scale in (0.0137, 0.0731))
    output_scale = float(np.float32(input_scale * weight_scale * 2**23))
    exact = quantize_multiplier(input_scale * weight_scale / output_scale)
    narrow = quantize_multiplier(float(np.float32(input_scale) * np.float32(weight_scale)) / output_scale)
    near = np.concatenate([np.arange(-200, 200) + int((step + 0.5) * 2**23) for step in range(60, 120)])
    differ = multiply_by_quantized_multiplier(near, *exact) != multiply_by_quantized_multiplier(near, *narrow)
    sums = near[differ][::40].astype(np.int32)
    assert len(sums) > 10
    options: dict[str, Any] = {"per_channel": False, "weight_scale": weight_scale, "scale": output_scale}
    if op == "fully_connected":
        builder = ModelBuilder().input((1, 1), scale=input_scale).fully_connected(len(sums), **options)
    else:
        builder = ModelBuilder().input((1, 1, 1, 1), scale=input_scale)
        getattr(builder, op)(len(sums), (1, 1), **options)
    builder.model.buffers[1].data = np.zeros(len(sums), np.uint8)
    builder.model.buffers[2].data = np.frombuffer(sums.tobytes(), np.uint8)
    check(builder)


SCALES = st.floats(1e-4, 2.0)
ZERO_POINTS = st.integers(-128, 127)
PAIRS = st.tuples(st.integers(1, 3), st.integers(1, 3))


@st.composite
def networks(draw: st.DrawFn) -> ModelBuilder:
    """One spatial operator with drawn geometry and quantization, and one that reads it."""
    shape = (1, draw(st.integers(1, 9)), draw(st.integers(1, 9)), draw(st.integers(1, 6)))
    builder = ModelBuilder(draw(st.integers(0, 999)))
    builder.input(shape, scale=draw(SCALES), zero_point=draw(ZERO_POINTS))
    op = draw(st.sampled_from(["conv2d", "depthwise", "average_pool"]))
    kernel = (draw(st.integers(1, min(5, shape[1]))), draw(st.integers(1, min(5, shape[2]))))
    options: dict[str, Any] = {
        "stride": draw(PAIRS),
        "padding": draw(st.sampled_from(["SAME", "VALID"])),
        "activation": draw(st.sampled_from(["NONE", "RELU", "RELU6", "RELU_N1_TO_1"])),
    }
    if op == "average_pool":
        builder.average_pool(kernel, **options)
    else:
        dilation = draw(PAIRS) if options["padding"] == "SAME" else (1, 1)
        getattr(builder, op)(
            draw(st.integers(1, 5)),
            kernel,
            dilation=dilation,
            bias=draw(st.booleans()),
            per_channel=draw(st.booleans()),
            zero_point=draw(ZERO_POINTS),
            weight_scale=draw(SCALES),
            **options,
        )
    tail = draw(st.sampled_from(["softmax", "dense", "double"]))
    if tail == "softmax":
        return builder.softmax()
    if tail == "double":
        return builder.add(builder.current, zero_point=draw(ZERO_POINTS))
    builder.reshape((1, -1))
    return builder.fully_connected(draw(st.integers(1, 9)), zero_point=draw(ZERO_POINTS))


@settings(max_examples=120, derandomize=True, deadline=None)
@given(networks())
def test_drawn_networks(builder: ModelBuilder) -> None:
    check(builder, samples=4)
