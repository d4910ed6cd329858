"""Every .onnx file of data/models: the golden answer, in the interpreter and in C, or a useful refusal."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.shared_data import SHARED, needs_shared
from tinydeploy.build import compile_graph
from tinydeploy.emulate.host import build_host
from tinydeploy.errors import TinyDeployError
from tinydeploy.frontends import AS_IS, ImportOptions, load, survey
from tinydeploy.ir import Graph
from tinydeploy.kernels.targets import target_of
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.passes import layout
from tinydeploy.toolchain import HOST, select

pytestmark = needs_shared

MODELS = SHARED / "models"
SPEECH = ImportOptions(dims=(("sequence", 576),), values=(("sr", 16000.0),))
OPTIONS = {"silero_vad_16k_op15": SPEECH, "silero_vad_op18_ifless": SPEECH}

FLOAT = (
    "dtln_model_1",
    "emx_micro_kws_fp32",
    "espdl_streaming_model",
    "onnx2c_atmega_mnist",
    "onnx_light_squeezenet",
    "silero_vad_16k_op15",
    "silero_vad_op18_ifless",
    "wonnx_opt_mnist",
)
QUANTIZED = {"emx_micro_kws_qdq": 1, "emx_micro_kws_qop_addshape": 1, "tract_qlstm": 0, "tract_qrelu": 0}
"""Models between quantization and how many steps of the output may differ."""
REFUSED = {"tract_xgb_tree": "ai.onnx.ml.TreeEnsembleClassifier"}
TRANSPOSES = {"espdl_streaming_model": 1, "onnx_light_squeezenet": 1}
"""Those that are left, at the model's boundary."""


def model(name: str) -> Graph:
    return load(MODELS / "onnx" / f"{name}.onnx", OPTIONS.get(name, AS_IS))


def golden_of(name: str, graph: Graph) -> tuple[list[npt.NDArray[Any]], list[npt.NDArray[Any]]]:
    """(inputs, outputs); inputs go by name."""
    with np.load(MODELS / "golden" / f"{name}.onnx.npz") as arrays:
        inputs = [arrays[f"in_{graph.values[value].name}"] for value in graph.inputs]
        return inputs, [arrays[f"out{index}"] for index in range(len(graph.outputs))]


def compiled_outputs(graph: Graph, inputs: list[npt.NDArray[Any]], folder: Path) -> tuple[Any, ...]:
    compiled = compile_graph(graph, target_of("host"), name="model")
    program = build_host(compiled, folder, select("gcc", HOST, sanitize=False), optimize="-O1")
    (answer,) = program.run([tuple(inputs)])
    return answer.outputs


def assert_near(got: tuple[Any, ...], wanted: list[npt.NDArray[Any]]) -> None:
    """1e-5 of the largest element of each output."""
    for array, expected in zip(got, wanted, strict=True):
        assert array.shape == expected.shape
        np.testing.assert_allclose(array, expected, rtol=1e-5, atol=1e-5 * float(np.abs(expected).max()))


def test_every_file_is_covered() -> None:
    entries = json.loads((MODELS / "manifest.json").read_text())
    files = {Path(entry["file"]).stem for entry in entries if entry["file"].endswith(".onnx")}
    assert {*FLOAT, *QUANTIZED, *REFUSED} == files


@pytest.mark.parametrize("name", FLOAT)
def test_float_models_give_the_golden_answer(name: str) -> None:
    graph = model(name)
    inputs, expected = golden_of(name, graph)
    assert_near(Interpreter(graph).run(inputs), expected)


@pytest.mark.parametrize("name", [name for name in FLOAT if name != "onnx_light_squeezenet"])
def test_float_models_give_the_golden_answer_in_c(name: str, tmp_path: Path) -> None:
    graph = model(name)
    inputs, expected = golden_of(name, graph)
    assert_near(compiled_outputs(graph, inputs, tmp_path), expected)


@pytest.mark.slow
def test_squeezenet_in_c(tmp_path: Path) -> None:
    graph = model("onnx_light_squeezenet")
    inputs, expected = golden_of("onnx_light_squeezenet", graph)
    assert_near(compiled_outputs(graph, inputs, tmp_path), expected)


@pytest.mark.parametrize("name", QUANTIZED)
def test_quantized_models_are_near_the_golden_answer(name: str, tmp_path: Path) -> None:
    graph = model(name)
    inputs, expected = golden_of(name, graph)
    compiled = compile_graph(graph, target_of("host"), name="model")
    steps = [
        quant.scale
        for node in compiled.graph.nodes
        if node.op == "Dequantize" and node.inputs[0] is not None
        if (quant := compiled.graph.type(node.inputs[0]).quant) is not None
    ]
    for got in (Interpreter(graph).run(inputs), compiled_outputs(graph, inputs, tmp_path)):
        for array, wanted in zip(got, expected, strict=True):
            assert np.abs(array - wanted).max() <= max(steps) * (QUANTIZED[name] + 1e-3)


@pytest.mark.parametrize("name", [*FLOAT, *QUANTIZED])
def test_transposes_are_left_at_the_boundary_only(name: str) -> None:
    graph = layout(model(name))
    left = [node for node in graph.nodes if node.op == "Transpose"]
    assert len(left) == TRANSPOSES.get(name, 0)
    edges = {*graph.inputs, *graph.outputs}
    reshaped = {node.outputs[0] for node in graph.nodes if node.op == "Reshape" and node.inputs[0] in edges}
    assert all({*node.inputs, *node.outputs} & (edges | reshaped) for node in left)


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_name_the_operator(name: str) -> None:
    found = survey(MODELS / "onnx" / f"{name}.onnx")
    assert found.graph is None
    assert [gap.op for gap in found.gaps] == [REFUSED[name]]
    assert all(gap.node and gap.reason and gap.remedy for gap in found.gaps)


@pytest.mark.parametrize("name", OPTIONS)
def test_open_dimensions_are_asked_for(name: str) -> None:
    with pytest.raises(TinyDeployError, match=r"sequence \(axis 1 of input 'input'\).*--dim sequence=N"):
        load(MODELS / "onnx" / f"{name}.onnx")


def test_conditions_on_inputs_are_gaps_that_name_the_option() -> None:
    (gap,) = survey(MODELS / "onnx" / "silero_vad_op18_ifless.onnx", dims={"sequence": 576}).gaps
    assert gap.op == "If"
    assert "--value INPUT=NUMBER" in gap.remedy


def test_speech_keeps_its_state_between_runs() -> None:
    options = ImportOptions(SPEECH.dims, (("state", "stateN"),), SPEECH.values)
    graph = load(MODELS / "onnx" / "silero_vad_op18_ifless.onnx", options)
    assert [graph.values[value].name for value in graph.inputs] == ["input"]
    plain = model("silero_vad_op18_ifless")
    generator = np.random.default_rng(1)
    streaming, state = Interpreter(graph), np.zeros((2, 1, 128), np.float32)
    for _ in range(3):
        sound = generator.standard_normal((1, 576)).astype(np.float32)
        wanted, state = Interpreter(plain).run([sound, state])
        assert np.array_equal(streaming.run([sound])[0], wanted)
