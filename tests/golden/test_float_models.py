"""Float models of data/ against LiteRT's reference kernels: 1e-5 of the largest output, numpy and C."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter as LiteRt  # type: ignore[import-untyped]
from ai_edge_litert.interpreter import OpResolverType

from tests.shared_data import SHARED, needs_shared
from tinydeploy.build import compile_graph
from tinydeploy.emulate.host import build_host
from tinydeploy.frontends.tflite import load_bytes
from tinydeploy.ir import Array, Graph
from tinydeploy.kernels.targets import target_of
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.toolchain import HOST, select

pytestmark = needs_shared

MODELS = (
    pytest.param("models/tflite/mediapipe_gesture_classifier.tflite", id="gesture"),
    pytest.param("mlperf_tiny/pretrainedResnet.tflite", id="ic", marks=pytest.mark.slow),
    pytest.param("mlperf_tiny/ad01_fp32.tflite", id="ad", marks=pytest.mark.slow),
    pytest.param("mlperf_tiny/vww_96_float.tflite", id="vww", marks=pytest.mark.slow),
)
TOLERANCE = 1e-5


def samples_of(graph: Graph) -> list[tuple[Array, ...]]:
    random = np.random.default_rng(0)
    shapes = [graph.type(value).shape for value in graph.inputs]
    return [tuple(random.standard_normal(shape).astype(np.float32) for shape in shapes) for _ in range(2)]


def oracle(data: bytes, sample: tuple[Array, ...]) -> list[Array]:
    """LiteRT, because TFLite Micro in Python has no float model of all of these kinds."""
    litert = LiteRt(model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    litert.allocate_tensors()
    for detail, array in zip(litert.get_input_details(), sample, strict=True):
        litert.set_tensor(detail["index"], array)
    litert.invoke()
    return [litert.get_tensor(detail["index"]) for detail in litert.get_output_details()]


def assert_close(got: Array, wanted: Array) -> None:
    np.testing.assert_allclose(got, wanted, rtol=0, atol=TOLERANCE * float(np.abs(wanted).max()))


@pytest.mark.parametrize("name", MODELS)
def test_float_models_are_close_to_litert(name: str, tmp_path: Path) -> None:
    data = (SHARED / name).read_bytes()
    graph = load_bytes(data, "model")
    samples = samples_of(graph)
    compiled = compile_graph(graph, target_of("host"), name="model")
    program = build_host(compiled, tmp_path, select("gcc", HOST, sanitize=True), optimize="-O1")
    interpreter = Interpreter(graph)
    for sample, answer in zip(samples, program.run(samples), strict=True):
        for wanted, numpy, c in zip(
            oracle(data, sample), interpreter.run(sample), answer.outputs, strict=True
        ):
            assert_close(numpy, wanted)
            assert_close(c, wanted)
