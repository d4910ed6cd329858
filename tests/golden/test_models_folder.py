"""Every .tflite file of data/models: the golden answer, to the byte, or a complete and useful refusal."""

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
from tinydeploy.frontends import load, survey
from tinydeploy.ir import Graph
from tinydeploy.kernels.targets import target_of
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.toolchain import HOST, select

pytestmark = needs_shared

MODELS = SHARED / "models"
INVOKES = 3

# Beyond what must match: files of other types whose operators only move elements or do nothing.
MORE = {
    "tflite/coral_split_concat.tflite",
    "tflite/mediapipe_swapped_io.tflite",
    "seanet/pad0.tflite",
    "seanet/strided_slice0.tflite",
}

REFUSED = {
    "tflite/tflm_audio_preprocessor_int8.tflite": {"CUSTOM 'SignalWindow'", "CAST", "DIV", "MUL"},
    "tflite/tflm_person_detect_vela.tflite": {"CUSTOM 'ethos-u'"},
    "tflite/tflm_keyword_svdf_int8.tflite": {"SVDF", "QUANTIZE"},
    "tflite/tflm_mnist_lstm_int8.tflite": {"UNIDIRECTIONAL_SEQUENCE_LSTM"},
    "tflite/tflm_mnist_lstm_float.tflite": {"UNIDIRECTIONAL_SEQUENCE_LSTM", "FULLY_CONNECTED", "SOFTMAX"},
    "tflite/tflm_dtln_int8.tflite": {"UNIDIRECTIONAL_SEQUENCE_LSTM"},
    "tflite/mlperf_kws_float32.tflite": {"CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "SOFTMAX"},
    "tflite/esphome_okay_nabu_v2.tflite": {"SUBGRAPH", "CALL_ONCE", "VAR_HANDLE", "QUANTIZE"},
    "tflite/coral_mobilenet_v1_025_128_uint8.tflite": {"CONV_2D", "DEPTHWISE_CONV_2D", "SOFTMAX"},
    "tflite/coral_movenet_lightning_int8.tflite": {"CAST", "FLOOR_DIV", "GATHER_ND", "SQRT"},
    "tflite/mediapipe_two_signatures.tflite": {"SUBGRAPH", "ADD"},
    "tflite/mediapipe_gesture_classifier.tflite": {"FULLY_CONNECTED"},
    "seanet/add0.tflite": {"ADD"},
    "seanet/sub0.tflite": {"SUB"},
    "seanet/conv0.tflite": {"CONV_2D"},
    "seanet/conv8.tflite": {"CONV_2D"},
    "seanet/leaky_relu0.tflite": {"LEAKY_RELU"},
    "seanet/quantize0.tflite": {"QUANTIZE"},
    "seanet/transpose_conv0.tflite": {"TRANSPOSE_CONV"},
}


def entries() -> dict[str, dict[str, Any]]:
    if not MODELS.is_dir():
        return {}
    listed = json.loads((MODELS / "manifest.json").read_text())
    return {entry["file"]: entry for entry in listed if entry["file"].endswith(".tflite")}


ENTRIES = entries()


def is_int8(entry: dict[str, Any]) -> bool:
    """All tensors are int8 or int32, or float at the edges only: a file without float operators."""
    edges = entry["ops"].get("QUANTIZE", 0) + entry["ops"].get("DEQUANTIZE", 0)
    return set(entry["dtypes"]) <= {"INT8", "INT32", "FLOAT32"} and entry["dtypes"].get("FLOAT32", 0) <= edges


MATCHING = sorted({name for name, entry in ENTRIES.items() if is_int8(entry)} | (MORE & ENTRIES.keys()))


def golden(name: str, graph: Graph) -> tuple[list[npt.NDArray[Any]], list[list[npt.NDArray[Any]]]]:
    """(inputs, outputs of each invoke)."""
    with np.load(MODELS / "golden" / f"{Path(name).name}.npz") as arrays:
        inputs = [
            arrays[f"in{index}"].reshape(graph.type(value).shape) for index, value in enumerate(graph.inputs)
        ]
        outputs = [
            [arrays[f"out{index}_step{step}"] for index in range(len(graph.outputs))]
            for step in range(INVOKES)
        ]
    return inputs, outputs


def bytes_off(got: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> int:
    assert (got.dtype, got.size) == (wanted.dtype, wanted.size)
    pair = (np.frombuffer(array.tobytes(), np.uint8) for array in (got, wanted))
    return int(np.count_nonzero(next(pair) != next(pair)))


def test_every_file_is_either_matched_or_refused() -> None:
    assert set(MATCHING) | REFUSED.keys() == ENTRIES.keys()
    assert not set(MATCHING) & REFUSED.keys()
    assert {"tflite/tinyengine_vww.tflite", "tflite/tinyengine_mcunetv2_large.tflite"} <= set(MATCHING)


@pytest.mark.parametrize("name", MATCHING)
def test_the_interpreter_gives_the_golden_bytes(name: str) -> None:
    graph = load(MODELS / name)
    inputs, expected = golden(name, graph)
    interpreter = Interpreter(graph)
    # Without state every invoke is the same computation; once is enough where it takes seconds.
    for step in range(INVOKES if graph.states or len(graph.nodes) < 60 else 1):
        got = interpreter.run(inputs)
        assert [bytes_off(*pair) for pair in zip(got, expected[step], strict=True)] == [0] * len(got)


@pytest.mark.parametrize("name", MATCHING)
def test_the_generated_c_gives_the_golden_bytes(name: str, tmp_path: Path) -> None:
    graph = load(MODELS / name)
    inputs, expected = golden(name, graph)
    compiled = compile_graph(graph, target_of("host"), name="model")
    program = build_host(compiled, tmp_path, select("gcc", HOST, sanitize=False), optimize="-O1")
    answers = list(program.run([tuple(inputs)] * INVOKES))
    off = [
        bytes_off(*pair)
        for answer, wanted in zip(answers, expected, strict=True)
        for pair in zip(answer.outputs, wanted, strict=True)
    ]
    assert off == [0] * INVOKES * len(graph.outputs)


@pytest.mark.parametrize("name", sorted(REFUSED.keys() & ENTRIES.keys()))
def test_a_refusal_names_every_gap_with_its_remedy(name: str) -> None:
    found = survey(MODELS / name)
    assert found.graph is None
    assert REFUSED[name] <= {gap.op for gap in found.gaps}
    for gap in found.gaps:
        assert gap.node
        assert gap.reason
        assert gap.remedy
    # Every operator that no rule knows is named as often as the file has it.
    unknown = [gap.op for gap in found.gaps if gap.reason == "the operator is not supported"]
    counts = dict(found.operators)
    assert all(counts[op] == unknown.count(op) for op in unknown)
