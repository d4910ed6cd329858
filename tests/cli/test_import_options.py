"""How a model is to be read: options of every command that takes one."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import parser

from tests.cli.conftest import Cli
from tests.shared_data import SHARED, needs_shared
from tinydeploy.cli.options import import_options
from tinydeploy.errors import TinyDeployError
from tinydeploy.frontends import Layout

MODEL = """<ir_version: 8, opset_import: ["": 17]>
g (float[batch, time, 2, 3] x, float[1, 2, 2, 3] total, bool loud)
  => (float[batch, time, 2, 3] y, float[1, 2, 2, 3] next) {
  next = Add(x, total)
  y = If(loud) <then_branch = a () => (float[1, 2, 2, 3] p) { p = Add(next, next) },
                else_branch = b () => (float[1, 2, 2, 3] q) { q = Identity(next) }>
}"""
OPTIONS = ("--dim", "time=2", "--value", "loud=1", "--state", "total=next")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "sum.onnx"
    onnx.save(parser.parse_model(MODEL), str(path))
    return path


def test_inspect_asks_for_what_is_open(cli: Cli, model: Path) -> None:
    asked = cli("inspect", model)
    assert asked.code == 1
    assert "1 dynamic dimension has no size: time (axis 1 of input 'x')" in asked.stderr
    assert "--dim time=N" in asked.stderr
    found = cli("inspect", model, "--dim", "time=2", "--json").json
    assert [gap["op"] for gap in found["unsupported"]] == ["If"]
    found = cli("inspect", model, *OPTIONS, "--json").json
    assert found["unsupported"] == []
    assert [port["shape"] for port in found["inputs"] + found["outputs"]] == [[1, 2, 2, 3]] * 2


def test_channels_last(cli: Cli, model: Path) -> None:
    found = cli("inspect", model, *OPTIONS, "--layout", "nhwc", "--json").json
    assert [port["shape"] for port in found["inputs"] + found["outputs"]] == [[1, 2, 3, 2]] * 2


def test_run_keeps_the_state(cli: Cli, model: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x=np.ones((1, 2, 2, 3), np.float32))
    files = ("--input", tmp_path / "in.npz", "-o", tmp_path / "out.npz")
    assert cli("run", model, *files, *OPTIONS, "--repeat", "3").code == 0
    with np.load(tmp_path / "out.npz") as arrays:
        assert [arrays[f"out0_step{step}"].max() for step in range(3)] == [2, 4, 6]


def test_compile_and_verify_take_them(cli: Cli, model: Path, tmp_path: Path) -> None:
    assert cli("compile", model, "-o", tmp_path / "lib", *OPTIONS).code == 0
    assert "SUM_STATE_BYTES 48u" in (tmp_path / "lib" / "sum.h").read_text()
    verified = cli("verify", model, *OPTIONS, "--samples", "2", "--json")
    assert (verified.code, verified.json["mismatches"]) == (0, 0)


def test_formats_without_the_option_refuse_it(cli: Cli, small_model: Path) -> None:
    refused = cli("inspect", small_model, "--dim", "time=2")
    assert refused.code == 1
    assert "files of the format TensorFlow Lite (.tflite) have no dims to set" in refused.stderr


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"dim": ["time"]}, "--dim 'time' is not of the form NAME=N. Write --dim NAME=N"),
        ({"dim": ["time=0"]}, "--dim time=0: '0' is no size. Give a whole number from 1 on"),
        ({"dim": ["time=x"]}, "--dim time=x: 'x' is no size"),
        ({"dim": ["time=99999999999999"]}, "'99999999999999' is no size"),
        ({"state": ["=b"]}, "--state '=b' is not of the form IN=OUT. Write --state IN=OUT"),
        ({"value": ["a=loud"]}, "--value a=loud: 'loud' is no number. Give a finite number"),
        ({"value": ["a=inf"]}, "--value a=inf: 'inf' is no number"),
    ],
)
def test_options_that_cannot_be_read(given: dict[str, list[str]], message: str) -> None:
    with pytest.raises(TinyDeployError) as caught:
        import_options(given.get("dim"), given.get("state"), given.get("value"), Layout.MODEL)
    assert message in str(caught.value)


def test_names_may_hold_equals_signs() -> None:
    assert import_options(["a=b=3"], None, None, Layout.MODEL).dims == (("a=b", 3),)


@needs_shared
def test_one_report_names_every_gap_and_no_file_is_left(cli: Cli, tmp_path: Path) -> None:
    case = SHARED / "cases" / "g15_unsupported_all"
    done = cli("compile", case / "model.onnx", "-o", tmp_path / "lib")
    assert done.code == 1
    text = done.stdout + done.stderr
    for name in json.loads((case / "case.json").read_text())["must_name"]:
        assert name in text
    assert "4 nodes are not supported" in text
    assert not (tmp_path / "lib").exists()
