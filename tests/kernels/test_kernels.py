"""Every schedule equals the reference, under ASan and UBSan, on shapes that break kernels."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.running import assert_kernel_bit_exact, every_schedule, graph_of
from tests.tflite_builder import ModelBuilder
from tinydeploy.ir import Graph


def conv(shape: tuple[int, ...], filters: int, kernel: tuple[int, int], **options: Any) -> bytes:
    zero_point = options.pop("input_zero_point", -3)
    return ModelBuilder().input(shape, zero_point=zero_point).conv2d(filters, kernel, **options).build()


def depthwise(shape: tuple[int, ...], multiplier: int, kernel: tuple[int, int], **options: Any) -> bytes:
    zero_point = options.pop("input_zero_point", -3)
    return ModelBuilder().input(shape, zero_point=zero_point).depthwise(multiplier, kernel, **options).build()


def pool(shape: tuple[int, ...], size: tuple[int, int], **options: Any) -> bytes:
    return ModelBuilder().input(shape, zero_point=-9).average_pool(size, **options).build()


CASES: dict[str, bytes] = {
    "conv_3x3": conv((1, 7, 6, 5), 4, (3, 3)),
    "conv_asymmetric_same": conv((1, 8, 8, 3), 5, (3, 3), stride=(2, 2)),
    "conv_valid": conv((1, 7, 6, 5), 4, (3, 2), padding="VALID", stride=(1, 2)),
    "conv_dilated": conv((1, 9, 9, 2), 3, (3, 3), dilation=(2, 3)),
    "conv_larger_than_image": conv((1, 2, 2, 3), 3, (5, 5)),
    "conv_tall": conv((1, 49, 10, 1), 8, (10, 4), stride=(2, 2), activation="RELU"),
    "conv_one_column": conv((1, 6, 1, 4), 3, (3, 1)),
    "conv_no_bias": conv((1, 4, 4, 3), 3, (3, 3), bias=False),
    "conv_per_tensor": conv((1, 4, 4, 3), 3, (3, 3), per_channel=False),
    "conv_relu6": conv((1, 4, 4, 3), 3, (3, 3), activation="RELU6", scale=0.05, zero_point=-100),
    "conv_shifts_left": conv((1, 4, 4, 3), 3, (3, 3), weight_scale=40.0, scale=0.5),
    "conv_zero_point_edge": conv((1, 4, 4, 3), 3, (3, 3), input_zero_point=127),
    "pointwise": conv((1, 5, 5, 8), 6, (1, 1)),
    "pointwise_odd_everything": conv((1, 3, 5, 7), 5, (1, 1)),
    "pointwise_2_left_over": conv((1, 3, 3, 6), 3, (1, 1)),
    "pointwise_1_channel": conv((1, 3, 3, 1), 1, (1, 1)),
    "pointwise_1_pixel": conv((1, 1, 1, 9), 4, (1, 1)),
    "pointwise_strided": conv((1, 8, 8, 6), 4, (1, 1), stride=(2, 2), padding="VALID"),
    "pointwise_per_tensor": conv((1, 4, 3, 8), 4, (1, 1), per_channel=False),
    "depthwise_3x3": depthwise((1, 7, 6, 5), 1, (3, 3)),
    "depthwise_stride_2": depthwise((1, 8, 8, 4), 1, (3, 3), stride=(2, 2)),
    "depthwise_multiplier": depthwise((1, 5, 5, 3), 2, (3, 3)),
    "depthwise_from_1_channel": depthwise((1, 6, 5, 1), 7, (3, 3)),
    "depthwise_dilated": depthwise((1, 7, 6, 3), 2, (3, 3), dilation=(2, 1), activation="RELU6"),
    "depthwise_valid_column": depthwise((1, 15, 1, 8), 1, (10, 1), padding="VALID"),
    "depthwise_larger_than_image": depthwise((1, 2, 3, 2), 1, (5, 7)),
    "depthwise_per_tensor": depthwise((1, 4, 4, 3), 1, (3, 3), per_channel=False, bias=False),
    "dense": ModelBuilder().input((1, 17), zero_point=5).fully_connected(9).build(),
    "dense_rows": ModelBuilder().input((4, 10), zero_point=5).fully_connected(3, activation="RELU").build(),
    "dense_per_channel": ModelBuilder().input((1, 37)).fully_connected(2, per_channel=True).build(),
    "dense_of_image": ModelBuilder().input((1, 2, 3, 4)).fully_connected(5, depth=24, bias=False).build(),
    "pool_global": pool((1, 5, 5, 6), (5, 5)),
    "pool_same": pool((1, 5, 6, 3), (3, 3), stride=(2, 2), padding="SAME"),
    "pool_same_stride_1": pool((1, 3, 3, 2), (2, 3), padding="SAME"),
    "pool_relu": pool((1, 4, 4, 2), (2, 2), activation="RELU"),
    "softmax": ModelBuilder().input((1, 12), scale=0.2, zero_point=4).softmax().build(),
    "softmax_rows": ModelBuilder().input((3, 5), scale=0.05).softmax(beta=0.5).build(),
    "softmax_coarse": ModelBuilder().input((1, 7), scale=2.0).softmax().build(),
    "softmax_wide": ModelBuilder().input((1, 1001), scale=0.001).softmax().build(),
    "softmax_1": ModelBuilder().input((1, 1)).softmax().build(),
}  # fmt: skip


def add(shape: tuple[int, ...], **options: Any) -> bytes:
    builder = ModelBuilder().input(shape, scale=0.03, zero_point=-7).input(shape, scale=0.11, zero_point=20)
    return builder.add(builder.inputs[0], **options).build()


CASES |= {
    "add": add((1, 3, 4, 5)),
    "add_vector": add((1, 13), activation="RELU", zero_point=-128),
    "add_3d": add((2, 3, 5), activation="RELU6"),
    "add_itself": ModelBuilder().input((1, 6), scale=0.1).add(0).build(),
}


@pytest.mark.parametrize("case", CASES)
def test_every_schedule_equals_the_reference(case: str, tmp_path: Path) -> None:
    graph = graph_of(CASES[case])
    for target, schedule in every_schedule(graph, 0):
        assert_kernel_bit_exact(graph, target, schedule, tmp_path / schedule.name)


pairs = st.tuples(st.integers(1, 4), st.integers(1, 4))
small_pairs = st.tuples(st.integers(1, 3), st.integers(1, 2))


@st.composite
def convolutions(draw: st.DrawFn) -> Graph:
    """Any convolution or depthwise convolution that a small image allows."""
    kernel = draw(pairs)
    dilation = draw(small_pairs)
    stride = (1, 1) if dilation != (1, 1) else draw(small_pairs)
    padding = draw(st.sampled_from(["SAME", "VALID"]))
    least = [(k - 1) * d + 1 if padding == "VALID" else 1 for k, d in zip(kernel, dilation, strict=True)]
    height = draw(st.integers(least[0], least[0] + 5))
    width = draw(st.integers(least[1], least[1] + 5))
    channels = draw(st.integers(1, 9))
    builder = ModelBuilder(seed=draw(st.integers(0, 1000)))
    builder.input((1, height, width, channels), zero_point=draw(st.integers(-128, 127)))
    options: dict[str, Any] = {
        "stride": stride,
        "padding": padding,
        "dilation": dilation,
        "activation": draw(st.sampled_from(["NONE", "RELU", "RELU6", "RELU_N1_TO_1"])),
        "bias": draw(st.booleans()),
        "per_channel": draw(st.booleans()),
        "zero_point": draw(st.integers(-128, 127)),
        "weight_scale": draw(st.sampled_from([0.001, 0.01, 0.3, 5.0])),
    }
    if draw(st.booleans()):
        builder.conv2d(draw(st.integers(1, 7)), kernel, **options)
    else:
        builder.depthwise(draw(st.integers(1, 3)), kernel, **options)
    return graph_of(builder.build())


@settings(max_examples=20, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(convolutions())
def test_drawn_convolutions_equal_the_reference(graph: Graph) -> None:
    for target, schedule in every_schedule(graph, 0):
        with tempfile.TemporaryDirectory() as folder:
            assert_kernel_bit_exact(graph, target, schedule, Path(folder))
