"""``verify --labels --metric``: one table of float network, integer reference and board."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.cli.conftest import Cli
from tests.onnx_models import recurrent_network
from tests.tflite_builder import ModelBuilder
from tinydeploy.frontends import load
from tinydeploy.frontends.tflite import load_bytes
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.verify.float_meaning import float_meaning
from tinydeploy.verify.metrics import real

COUNT = 12


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "x.npz"
    generator = np.random.default_rng(0)
    np.savez(path, in0=generator.integers(-128, 128, (COUNT, 1, 8, 8, 3)).astype(np.int8))
    return path


def _answers(model: Path, data: Path) -> list[int]:
    interpreter = Interpreter(load(model))
    with np.load(data) as arrays:
        return [int(np.argmax(interpreter.run([sample])[0])) for sample in arrays["in0"]]


def test_scores_of_all_three(cli: Cli, small_model: Path, data: Path, tmp_path: Path) -> None:
    answers = _answers(small_model, data)
    labels = tmp_path / "y.csv"
    labels.write_text("".join(f"{(answer + (index < 3)) % 3}\n" for index, answer in enumerate(answers)))
    options = ("verify", small_model, "--data", data, "--labels", labels, "--metric", "top1", "--samples", 2)
    task = cli(*options, "--json").json["task"]
    assert (task["metric"], task["samples"]) == ("top1", COUNT)
    assert task["reference"] == task["board"] == 0.75
    assert 0.5 <= task["float"] <= 1
    shown = cli(*options)
    assert shown.code == 0
    assert "top1 over 12 samples" in shown.stdout
    assert "integer reference" in shown.stdout


def test_errors_of_numbers(cli: Cli, small_model: Path, data: Path, tmp_path: Path) -> None:
    """Real-valued data, a float model of its own, labels in the output's shape."""
    with np.load(data) as arrays:
        np.savez(tmp_path / "real.npz", in0=(arrays["in0"].astype(np.float32) + 128) / 255)
    np.save(tmp_path / "y.npy", np.zeros((COUNT, 3), np.float32))
    found = cli(
        *("verify", small_model, "--data", tmp_path / "real.npz", "--float", "--samples", 2),
        *("--labels", tmp_path / "y.npy", "--metric", "mae", "--float-model", small_model, "--json"),
    )
    assert found.code == 1
    assert "array 'in0' is float32, input 0 is int8" in found.stderr
    found = cli(
        *("verify", small_model, "--data", tmp_path / "real.npz", "--float", "--samples", 2),
        *("--labels", tmp_path / "y.npy", "--metric", "mae", "--json"),
    )
    task = found.json["task"]
    assert task["float"] == pytest.approx(1 / 3, abs=1e-6)
    assert task["reference"] == task["board"] == pytest.approx(1 / 3, abs=0.01)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--metric", "auc"), "missing for a score: --data, --labels. Give --data, --labels and --metric"),
        (("--float-model", "x.onnx"), "--float-model is given without --metric"),
    ],
)
def test_half_a_task(options: tuple[str, ...], message: str, cli: Cli, small_model: Path) -> None:
    failed = cli("verify", small_model, *options)
    assert failed.code == 1
    assert message in failed.stderr


def test_the_float_meaning_is_near_the_integers() -> None:
    """Weights, biases and the activations between them as real numbers; what is left is rounding."""
    builder = ModelBuilder(seed=3).input((1, 6, 6, 3), scale=0.02, zero_point=3)
    builder.conv2d(8, (3, 3), activation="RELU").depthwise(1, (3, 3)).average_pool((6, 6))
    builder.reshape((1, 8)).fully_connected(4, per_channel=True)
    graph = load_bytes(builder.build(), "m")
    meaning = float_meaning(graph)
    sample = np.random.default_rng(0).integers(-128, 128, (1, 6, 6, 3)).astype(np.int8)
    (steps,) = Interpreter(graph).run([sample])
    given, made = graph.type(graph.inputs[0]), graph.type(graph.outputs[0])
    (numbers,) = Interpreter(meaning).run([real(sample, given).astype(np.float32)])
    assert made.quant is not None
    assert np.abs(real(steps, made) - numbers).max() < 4 * made.quant.scale


def test_float_graphs_are_compared_with_a_tolerance(cli: Cli, tmp_path: Path) -> None:
    """The JSON says which; for a float model the float network is all there is to score."""
    (tmp_path / "gru.onnx").write_bytes(recurrent_network("GRU").SerializeToString())
    np.savez(tmp_path / "x.npz", in0=np.random.default_rng(0).standard_normal((3, 16, 1, 8), np.float32))
    (tmp_path / "y.csv").write_text("0\n1\n2\n")
    options = ("verify", tmp_path / "gru.onnx", "--data", tmp_path / "x.npz", "--samples", 4)
    found = cli(*options, "--labels", tmp_path / "y.csv", "--metric", "top1", "--json").json
    assert (found["bit_exact"], found["tolerance"], found["passed"]) == (None, 1e-5, True)
    assert found["instances_compared"] == 4 * found["instances"]
    assert found["worst_step"]["relative"] < 1e-5
    assert found["task"]["reference"] is None
    assert found["task"]["float"] == found["task"]["board"]
    assert cli(*options).stdout.startswith("within 1e-05: yes (4 samples, ")
