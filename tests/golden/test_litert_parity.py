"""Kinds of files that TFLM refuses, against LiteRT's reference kernels: uint8 steps, and float data beside
integer weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from ai_edge_litert.interpreter import Interpreter as LiteRt  # type: ignore[import-untyped]
from ai_edge_litert.interpreter import OpResolverType

from tests.golden.tflm import random_inputs
from tests.shared_data import MLPERF, needs_shared
from tests.tflite_builder import ModelBuilder
from tinydeploy.frontends.tflite import load_bytes
from tinydeploy.ir import Graph
from tinydeploy.ops.interpreter import Interpreter

SAMPLES = 4


def litert(data: bytes, samples: list[list[npt.NDArray[Any]]]) -> list[list[npt.NDArray[Any]]]:
    """The outputs of each sample."""
    oracle = LiteRt(model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    oracle.allocate_tensors()
    answers = []
    for sample in samples:
        for detail, array in zip(oracle.get_input_details(), sample, strict=True):
            oracle.set_tensor(detail["index"], array)
        oracle.invoke()
        answers.append([oracle.get_tensor(detail["index"]) for detail in oracle.get_output_details()])
    return answers


def check(builder: ModelBuilder) -> Graph:
    data = builder.build()
    graph = load_bytes(data, "generated")
    interpreter = Interpreter(graph)
    samples = random_inputs(graph, SAMPLES, seed=11)
    for sample, wanted in zip(samples, litert(data, samples), strict=True):
        for got, right in zip(interpreter.run(sample), wanted, strict=True):
            np.testing.assert_array_equal(got, right)
    return graph


def unsigned(shape: tuple[int, ...] = (1, 6, 5, 4)) -> ModelBuilder:
    builder = ModelBuilder(3, dtype="uint8", weights="uint8", weight_zero=117)
    return builder.input(shape, scale=0.05, zero_point=90)


def test_uint8_convolutions() -> None:
    builder = unsigned()
    for kernel, stride, padding in (((3, 3), (1, 1), "SAME"), ((2, 3), (2, 1), "VALID")):
        options: dict[str, Any] = {
            "stride": stride,
            "padding": padding,
            "per_channel": False,
            "zero_point": 100,
        }
        builder.at(0).conv2d(5, kernel, activation="RELU6", **options).output()
        builder.at(0).depthwise(2, kernel, bias=False, **options).output()
    graph = check(builder)
    # The interface keeps its type.
    assert {graph.type(value).dtype.value for value in (*graph.inputs, *graph.outputs)} == {"uint8"}


def test_uint8_pools_moves_and_softmax() -> None:
    builder = unsigned()
    builder.pool("AVERAGE_POOL_2D", (3, 2), stride=(2, 1), padding="SAME").output()
    builder.at(0).pool("AVERAGE_POOL_2D", (2, 2)).output()
    builder.at(0).pool("MAX_POOL_2D", (3, 2)).output()
    builder.at(0).reshape((4, 30)).output()
    builder.at(0).move("PAD", (1, 9, 5, 4), [[0, 0], [1, 2], [0, 0], [0, 0]]).output()
    check(builder)


def test_uint8_elementwise() -> None:
    """LiteRT's SUB rounds otherwise than TFLM's, of int8 too, so it is no oracle for it."""
    builder = unsigned()
    for op, scale in (("ADD", 0.09), ("MUL", 0.1)):
        other = builder.constant((1, 1, 5, 4), scale=0.03, zero_point=77)
        builder.at(0).binary(op, other, scale=scale, zero_point=130).output()
    check(builder)


def real_check(data: bytes, sizes: Sequence[float] = (1.0, 30.0, 0.0)) -> None:
    graph = load_bytes(data, "generated")
    interpreter = Interpreter(graph)
    rng = np.random.default_rng(11)
    shape = graph.type(graph.inputs[0]).shape
    samples = [[rng.normal(0.3, size, shape).astype(np.float32)] for size in sizes]
    for sample, wanted in zip(samples, litert(data, samples), strict=True):
        for got, right in zip(interpreter.run(sample), wanted, strict=True):
            tolerance = 1e-5 * max(float(np.abs(right).max()), 1e-30)
            np.testing.assert_allclose(got, right, rtol=0, atol=tolerance)


def hybrid(shape: tuple[int, ...]) -> ModelBuilder:
    return ModelBuilder(3, dtype="float32").input(shape, scale=None)


@needs_shared
@pytest.mark.parametrize("name", ["ad01_fp32", "kws_ref_model_float32", "pretrainedResnet", "vww_96_float"])
def test_the_float_models_of_mlperf(name: str) -> None:
    """kws_ref_model_float32 is in truth a hybrid model."""
    real_check((MLPERF / f"{name}.tflite").read_bytes(), sizes=(1.0,))


@pytest.mark.parametrize("per_channel", [True, False])
def test_hybrid_convolutions(per_channel: bool) -> None:
    builder = hybrid((1, 6, 5, 4))
    for kernel, stride, padding in (((3, 3), (1, 1), "SAME"), ((2, 3), (2, 1), "VALID")):
        options: dict[str, Any] = {"stride": stride, "padding": padding, "per_channel": per_channel}
        builder.at(0).conv2d(5, kernel, activation="RELU", **options).output()
        if per_channel:
            builder.at(0).depthwise(2, kernel, **options).output()
    real_check(builder.build())


@pytest.mark.parametrize("asymmetric", [True, False])
def test_hybrid_dense_layers(asymmetric: bool) -> None:
    """Every row of the data has a scale of its own."""
    builder = hybrid((3, 20))
    for bias in (True, False):
        builder.at(0).fully_connected(7, bias=bias)
        builder.operators[-1].builtinOptions.asymmetricQuantizeInputs = asymmetric
        builder.output()
    real_check(builder.build())
