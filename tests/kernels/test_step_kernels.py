"""Kernels of int16 and uint8 steps, int4 weights, float data beside integer weights, and state, against the
reference under ASan and UBSan: graphs of many nodes."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from ai_edge_litert import schema_py_generated as schema  # type: ignore[import-untyped]

from tests.recurrent_models import lstm, svdf
from tests.running import assert_bit_exact, graph_of
from tests.tflite_builder import ModelBuilder
from tinydeploy.build import compile_graph
from tinydeploy.fixed_point import Rounding
from tinydeploy.ir import Graph
from tinydeploy.kernels.targets import target_of

HOST = target_of("host")

WINDOWS: tuple[tuple[tuple[int, int], dict[str, Any]], ...] = (
    ((3, 3), {"padding": "SAME"}),
    ((2, 3), {"padding": "VALID", "stride": (2, 1)}),
    ((3, 2), {"padding": "SAME", "dilation": (2, 3)}),
    ((1, 1), {"padding": "VALID", "stride": (2, 2)}),
)


def convolutions(builder: ModelBuilder, *, per_channel: bool, transposed: bool = True) -> ModelBuilder:
    zero_point = 0 if builder.dtype in ("int16", "float32") else 3
    for number, (kernel, window) in enumerate(WINDOWS):
        options: dict[str, Any] = {
            "per_channel": per_channel,
            "activation": ("NONE", "RELU6")[number % 2],
            "bias": number % 2 == 0,
            "zero_point": zero_point,
        }
        builder.at(0).conv2d(5, kernel, **window, **options).output()
        builder.at(0).conv2d(6, kernel, groups=2, **window, **options).output()
        builder.at(0).depthwise(2, kernel, **window, **options).output()
    builder.at(0).fully_connected(7, depth=20, per_channel=per_channel, zero_point=zero_point).output()
    if transposed:
        builder.at(0).transpose_conv(3, (3, 2), stride=(2, 3), per_channel=per_channel).output()
    return builder


def wide(bias: str) -> ModelBuilder:
    builder = ModelBuilder(3, dtype="int16", bias=bias).input((1, 6, 5, 4), scale=0.001)
    return convolutions(builder, per_channel=bias == "int64")


def wide_others() -> ModelBuilder:
    builder = ModelBuilder(3, dtype="int16").input((1, 6, 5, 4), scale=0.0004)
    for shape in ((1, 6, 5, 4), (1, 1, 1, 4)):
        other = builder.constant(shape, scale=0.0007)
        for op, scale in (("ADD", 0.001), ("SUB", 0.0009), ("MUL", 0.00001)):
            builder.at(0).binary(op, other, activation="RELU", scale=scale).output()
        other = builder.constant(shape, scale=0.0004)
        builder.at(0).binary("MAXIMUM", other, scale=0.0004).output()
    for padding in ("SAME", "VALID"):
        for op in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
            builder.at(0).pool(op, (3, 2), stride=(2, 1), padding=padding, activation="RELU6").output()
    builder.at(0).unary("LOGISTIC", scale=1 / 32768).output()
    builder.at(0).unary("TANH", scale=1 / 32768).output()
    builder.at(0).unary("LEAKY_RELU", schema.LeakyReluOptionsT(alpha=0.3), scale=0.0003).output()
    builder.at(0).unary("RELU", scale=0.0006).output()
    for dtype, scale in (("int16", 0.0003), ("int8", 0.07), ("int32", 0.0004), ("uint8", 0.1)):
        builder.at(0).unary("QUANTIZE", dtype=dtype, scale=scale).output()
    builder.at(0).softmax().output()
    builder.input((7,), dtype="int8", scale=0.1, zero_point=3)
    for dtype, scale in (("int16", 0.003), ("int32", 0.1), ("uint8", 0.2)):
        builder.at(builder.inputs[-1]).unary("QUANTIZE", dtype=dtype, scale=scale).output()
    result = builder.tensor((7,), dtype="int16", scale=1 / 65536, zero_point=-32768)
    builder.operator("SOFTMAX", [builder.inputs[-1]], [result], schema.SoftmaxOptionsT(beta=1.0)).output()
    a = builder.input((2, 3, 4, 7), scale=0.003).current
    builder.batch_matmul(builder.constant((1, 3, 7, 5), scale=0.001), scale=0.03).output()
    builder.at(a).batch_matmul(builder.constant((5, 7), scale=0.001), adj_y=True, scale=0.03).output()
    return builder


def nibbles() -> ModelBuilder:
    builder = ModelBuilder(5, weights="int4").input((1, 6, 5, 4), scale=0.05, zero_point=-11)
    return convolutions(builder, per_channel=True)


def weight_zero_points() -> ModelBuilder:
    """uint8 steps, int8 inside; and int8 weights with a zero point for each channel."""
    builder = ModelBuilder(5, dtype="uint8", weights="uint8", weight_zero=117)
    builder.input((1, 6, 5, 4), scale=0.05, zero_point=90)
    convolutions(builder, per_channel=False)
    for padding in ("SAME", "VALID"):
        builder.at(0).pool("AVERAGE_POOL_2D", (3, 2), stride=(2, 1), padding=padding).output()
    return builder


def zero_points_per_channel() -> ModelBuilder:
    builder = convolutions(ModelBuilder(5).input((1, 6, 5, 4), zero_point=9), per_channel=True)
    for operator in builder.operators:
        quantization = builder.tensors[operator.inputs[1]].quantization
        if quantization is not None and len(quantization.scale) > 1:
            quantization.zeroPoint = builder.rng.integers(-60, 60, len(quantization.scale))
    return builder


def hybrid(weights: str, *, per_channel: bool) -> ModelBuilder:
    builder = ModelBuilder(7, dtype="float32", weights=weights).input((1, 6, 5, 4), scale=None)
    return convolutions(builder, per_channel=per_channel, transposed=False)


def stateful() -> ModelBuilder:
    builder = ModelBuilder().input((2, 9), scale=0.05, zero_point=-7)
    svdf(builder, 6, rank=2, state_zero_point=21, zero_point=-128).output()
    svdf(builder.at(0), 5, state="int16", state_scale=0.0004).output()
    svdf(builder.at(0), 3, memory=1, bias=False).output()
    builder.input((3, 4, 7), scale=0.05, zero_point=5)
    lstm(builder, 5, hidden_zero_point=-4).output()
    lstm(builder.at(builder.inputs[1]), 3, time_major=True, cell_power=-9, cell_clip=0.5).output()
    return builder


def stateful_floats() -> ModelBuilder:
    builder = ModelBuilder().input((2, 9), dtype="float32", scale=None)
    svdf(builder, 6, rank=2, state=None).output()
    svdf(builder.at(0), 2, state=None, bias=False).output()
    builder.input((3, 4, 7), dtype="float32", scale=None)
    lstm(builder, 5, real=True, cell_clip=0.3).output()
    return builder


GRAPHS = {
    "wide_int64": lambda: wide("int64"),
    "wide_int32": lambda: wide("int32"),
    "wide_others": wide_others,
    "nibbles": nibbles,
    "weight_zero_points": weight_zero_points,
    "zero_points_per_channel": zero_points_per_channel,
    "hybrid": lambda: hybrid("int8", per_channel=True),
    "hybrid_nibbles": lambda: hybrid("int4", per_channel=False),
    "stateful": stateful,
    "stateful_floats": stateful_floats,
}


def _with_rounding(attrs: Any) -> Any:
    return dataclasses.replace(attrs, rounding=Rounding.HALF_EVEN)


def rounded_once(graph: Graph) -> Graph:
    """The same nodes with ONNX's rounding where they have the choice."""
    nodes = (
        dataclasses.replace(node, attrs=_with_rounding(node.attrs))
        if hasattr(node.attrs, "rounding")
        else node
        for node in graph.nodes
    )
    return dataclasses.replace(graph, nodes=tuple(nodes))


@pytest.mark.parametrize("name", ["wide_int64", "nibbles", "zero_points_per_channel"])
def test_a_family_that_rounds_once(name: str, tmp_path: Path) -> None:
    graph = rounded_once(graph_of(GRAPHS[name]().build()))
    assert_bit_exact(compile_graph(graph, HOST, name="model"), tmp_path)


@pytest.mark.parametrize("name", GRAPHS)
def test_a_family_equals_the_reference(name: str, tmp_path: Path) -> None:
    graph = graph_of(GRAPHS[name]().build())
    assert_bit_exact(compile_graph(graph, HOST, name="model"), tmp_path)
