"""Every .tflite file of data/models: the golden answer, or a complete and useful refusal.

Integers to the byte, floats and hybrid models within 1e-5; state over three invokes.
"""

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
from tinydeploy.frontends import ImportOptions, load, survey
from tinydeploy.ir import Graph
from tinydeploy.kernels.targets import target_of
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.toolchain import HOST, select

pytestmark = needs_shared

MODELS = SHARED / "models"
INVOKES = 3

REFUSED = {
    "tflite/tflm_audio_preprocessor_int8.tflite": {"CUSTOM 'SignalWindow'", "CUSTOM 'SignalPCAN'"},
    "tflite/tflm_person_detect_vela.tflite": {"CUSTOM 'ethos-u'"},
}

# A file that has its golden in tables beside it.
CSV = "seanet/transpose_conv0.tflite"

TOLERANCE = 1e-5
"""Of floats, relative to the largest."""

# Minutes of compiling under sanitizers, or seconds of numpy.
LARGE = {
    "tflite/coral_movenet_lightning_int8.tflite",
    "tflite/tinyengine_mcunetv2_large.tflite",
    "tflite/tinyengine_vww.tflite",
}


def entries() -> dict[str, dict[str, Any]]:
    if not MODELS.is_dir():
        return {}
    listed = json.loads((MODELS / "manifest.json").read_text())
    return {entry["file"]: entry for entry in listed if entry["file"].endswith(".tflite")}


ENTRIES = entries()
MATCHING = [
    pytest.param(name, marks=pytest.mark.slow if name in LARGE else ())
    for name in sorted(ENTRIES.keys() - REFUSED.keys() - {CSV})
]


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


def off(got: npt.NDArray[Any], wanted: npt.NDArray[Any]) -> int:
    """Bytes that differ; of floats, elements beyond the tolerance."""
    assert (got.dtype, got.size) == (wanted.dtype, wanted.size)
    if got.dtype == np.float32:
        largest = max(float(np.abs(wanted).max(initial=0.0)), float(np.finfo(np.float32).tiny))
        far = np.abs(got.reshape(-1) - wanted.reshape(-1)) > TOLERANCE * largest
        return int(np.count_nonzero(far | np.isnan(got.reshape(-1))))
    pair = (np.frombuffer(array.tobytes(), np.uint8) for array in (got, wanted))
    return int(np.count_nonzero(next(pair) != next(pair)))


def test_every_file_is_either_matched_or_refused() -> None:
    assert REFUSED.keys() | {CSV} <= ENTRIES.keys()
    assert len(MATCHING) == len(ENTRIES) - 3


@pytest.mark.parametrize("name", MATCHING)
def test_the_interpreter_gives_the_golden_bytes(name: str) -> None:
    graph = load(MODELS / name)
    inputs, expected = golden(name, graph)
    interpreter = Interpreter(graph)
    # Without state every invoke is the same computation; once is enough where it takes seconds.
    for step in range(INVOKES if graph.states or len(graph.nodes) < 60 else 1):
        got = interpreter.run(inputs)
        assert [off(*pair) for pair in zip(got, expected[step], strict=True)] == [0] * len(got)


@pytest.mark.parametrize("name", MATCHING)
def test_the_generated_c_gives_the_golden_bytes(name: str, tmp_path: Path) -> None:
    graph = load(MODELS / name)
    inputs, expected = golden(name, graph)
    compiled = compile_graph(graph, target_of("host"), name="model")
    program = build_host(compiled, tmp_path, select("gcc", HOST, sanitize=False), optimize="-O1")
    answers = list(program.run([tuple(inputs)] * INVOKES))
    found = [
        off(*pair)
        for answer, wanted in zip(answers, expected, strict=True)
        for pair in zip(answer.outputs, wanted, strict=True)
    ]
    assert found == [0] * INVOKES * len(graph.outputs)


def table(name: str, dtype: type[np.generic]) -> npt.NDArray[Any]:
    """The numbers of a table beside the models."""
    text = (MODELS / "seanet" / name).read_text().replace("\n", ",")
    return np.array([int(number) for number in text.split(",") if number.strip()], dtype)


def test_a_file_with_tables_beside_it(tmp_path: Path) -> None:
    """Its first input is the output's shape, which it may compute: the file's own shape holds."""
    graph = load(MODELS / CSV)
    arrays = (
        table("transpose_conv0_input0_int32.csv", np.int32),
        table("transpose_conv0_input1_int16.csv", np.int16),
    )
    inputs = tuple(
        array.reshape(graph.type(value).shape) for array, value in zip(arrays, graph.inputs, strict=True)
    )
    wanted = table("transpose_conv0_golden_int16.csv", np.int16)
    (got,) = Interpreter(graph).run(inputs)
    assert off(got, wanted) == 0
    compiled = compile_graph(graph, target_of("host"), name="model")
    program = build_host(compiled, tmp_path, select("gcc", HOST, sanitize=False), optimize="-O1")
    (answer,) = program.run([inputs])
    assert off(answer.outputs[0], wanted) == 0


def test_a_signature_is_chosen_by_name() -> None:
    path = MODELS / "tflite" / "mediapipe_two_signatures.tflite"
    second = load(path, ImportOptions(signature="model_two"))
    assert second.values[second.inputs[0]].name == "model_two_third_input:0"
    with pytest.raises(TinyDeployError, match=r"no signature 'x'.*It has: 'model_one', 'model_two'"):
        load(path, ImportOptions(signature="x"))


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
