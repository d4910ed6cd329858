"""The stored demo model is what its card says, and the script that makes it runs."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.demo.oracle import TfliteMicro
from tinydeploy.demo import (
    CARD_FILE,
    MODEL_FILE,
    SAMPLES_FILE,
    card,
    model_path,
    read_card,
    read_samples,
    samples,
)
from tinydeploy.demo.train import Digits, differences, load_digits, main, make
from tinydeploy.frontends import load
from tinydeploy.ops.interpreter import Interpreter

STORED = model_path().parent


def test_the_card_names_the_stored_file() -> None:
    model = model_path().read_bytes()
    assert hashlib.sha256(model).hexdigest() == card().sha256
    assert len(model) == card().model_bytes <= 20_000
    assert (STORED / SAMPLES_FILE).stat().st_size < 100_000


def test_the_card_is_a_good_one() -> None:
    assert card().accuracy_int8 >= 0.97
    assert abs(card().accuracy_float - card().accuracy_int8) <= 0.01
    assert card().test_images == 360
    assert "load_digits" in card().data
    assert "CC BY 4.0" in card().data_licence
    assert {"numpy", "scikit-learn", "ai-edge-litert"} <= card().versions.keys()


def test_tflite_micro_reaches_the_cards_accuracy() -> None:
    inputs, labels = samples()
    assert inputs.shape == (360, 8, 8, 1)
    assert inputs.dtype == np.int8
    assert labels.shape == (360,)
    oracle = TfliteMicro(model_path().read_bytes())
    right = [oracle.run(image[None]).argmax() == label for image, label in zip(inputs, labels, strict=True)]
    assert np.mean(right) == card().accuracy_int8


def test_the_samples_are_scikit_learns_images() -> None:
    digits = load_digits(card().seed)
    inputs, labels = samples()
    np.testing.assert_array_equal(labels, digits.test_labels)
    assert np.abs(inputs - (digits.test_images * 255.0 - 128.0)).max() < 0.501
    assert len(digits.train_images) == card().train_images


def test_inner_tensors_of_the_loaded_model_equal_tflite_micros() -> None:
    graph = load(model_path())
    oracle = TfliteMicro(model_path().read_bytes())
    interpreter = Interpreter(graph)
    for image in samples()[0][:16]:
        oracle.run(image[None])
        arrays = interpreter.run_all((image[None],))
        for node in graph.nodes:
            (value,) = node.outputs
            got = oracle.tensor(graph.values[value].name)
            np.testing.assert_array_equal(got, arrays[value], err_msg=graph.values[value].name)


def test_ranges_are_those_that_make_training_exact() -> None:
    """The bounds that test_sums_of_the_demo_training_are_exact_in_any_order takes for granted."""
    graph = load(model_path())
    for node in graph.nodes:
        output = graph.type(node.outputs[0]).quant
        assert output is not None
        assert 255 * output.scale < 2**7
        if len(node.inputs) == 3:
            weights = graph.type(node.inputs[1] or 0).quant
            assert weights is not None
            assert 127 * max(weights.scales) < 2**3


def test_the_package_imports_nothing_heavy() -> None:
    code = "import sys, tinydeploy.demo as d; d.card(); d.samples(); print(*sys.modules)"
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path.cwd()
    )
    heavy = {"sklearn", "scipy", "flatbuffers", "ai_edge_litert", "onnx", "tinydeploy.ops"}
    assert not heavy & set(run.stdout.split())


def test_quick_training_writes_files_that_belong_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--quick", "--out", str(tmp_path)]) == 0
    made = read_card(tmp_path / CARD_FILE)
    model = (tmp_path / MODEL_FILE).read_bytes()
    assert hashlib.sha256(model).hexdigest() == made.sha256
    assert f"{made.model_bytes} bytes, {made.macs} MACs, 360 test images: float" in capsys.readouterr().out
    oracle = TfliteMicro(model)
    inputs, labels = read_samples(tmp_path / SAMPLES_FILE)
    right = [oracle.run(image[None]).argmax() == label for image, label in zip(inputs, labels, strict=True)]
    assert np.mean(right) == made.accuracy_int8
    assert main(["--quick", "--check", "--out", str(tmp_path)]) == 0
    assert "reproduced, byte for byte: " in capsys.readouterr().out


def test_a_check_that_fails_says_what_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in (MODEL_FILE, SAMPLES_FILE, CARD_FILE):
        (tmp_path / name).write_bytes((STORED / name).read_bytes())
    assert main(["--quick", "--check", "--out", str(tmp_path)]) == 3
    text = capsys.readouterr().out
    assert f"not reproduced in {tmp_path}:" in text
    assert f"{MODEL_FILE}: the bytes differ" in text
    assert f"{CARD_FILE}: epochs is 1, stored {card().epochs}" in text
    assert SAMPLES_FILE not in text
    assert "numpy" in text


def test_differences_are_found_in_samples_but_not_in_versions(tmp_path: Path) -> None:
    images, labels = np.zeros((64, 8, 8, 1)), np.zeros(64, np.int64)
    images[:, 3:5] = 1.0
    digits = Digits(images, labels, images[:4], labels[:4])
    folders = tmp_path / "made", tmp_path / "stored"
    for folder in folders:
        folder.mkdir()
        make(digits, folder, epochs=1)
    stored = folders[1] / CARD_FILE
    content = dataclasses.asdict(read_card(stored)) | {"versions": {"numpy": "0"}, "added_later": 1}
    stored.write_text(json.dumps(content), encoding="utf-8")
    assert differences(*folders) == []
    np.savez_compressed(folders[1] / SAMPLES_FILE, in0=np.zeros((4, 8, 8, 1), np.int8), labels=labels[:4])
    assert differences(*folders) == [f"{SAMPLES_FILE}: the arrays differ"]
