"""The command: table, JSON and page; names from models stay text."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.cli.conftest import Cli
from tests.quantize.networks import convolutional, images
from tinydeploy.frontends import load

HOSTILE = "<script>alert('1')</script>[bold]\x1b[31m\"&"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "net.onnx"
    onnx.save(convolutional(name=HOSTILE), path)
    np.save(tmp_path / "calib.npy", images(12))
    return path


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)


def test_json_and_page(cli: Cli, model: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "q.onnx", tmp_path / "report.html"
    data = tmp_path / "calib.npy"
    found = cli("quantize", model, "--data", data, "-o", out, "--html", page, "--json")
    assert found.code == 0, found.stderr
    assert found.json["layers"][0]["name"] == HOSTILE
    assert found.json["samples"] == 12
    assert found.json["output"] == str(out)
    text = page.read_text()
    parser = _Tags()
    parser.feed(text)
    assert "script" not in parser.tags
    assert "&lt;script&gt;" in text
    assert load(out).nodes


def test_a_table_for_people(cli: Cli, model: Path, tmp_path: Path) -> None:
    out = tmp_path / "q.onnx"
    found = cli(
        "quantize", model, "--data", tmp_path / "calib.npy", "-o", out, "--weights", "int4", "--samples", 4
    )
    assert found.code == 0, found.stderr
    assert "net: 4 samples, method robust, activations int8, weights int4" in found.stdout
    assert "outputs: SQNR" in found.stdout
    assert "DepthwiseConv2D" in found.stdout.replace("\n", "") or "Depthwi" in found.stdout
    assert "\x1b[31m" not in found.stdout
    assert f"wrote {out}" in found.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--weights", "int3"), "--weights: 'int3' is no type of weights. Allowed: int8, int4"),
        (("--activations", "int7"), "--activations: 'int7' is no type. Types: int8, uint8, int16, float32"),
        (("--mean", "a,b"), "--mean: 'a,b' holds no numbers. Write one number, or one per channel"),
        (("--mean", "1", "--data-type", "int16"), "--data-type: int16 is not possible with --mean and --std"),
        (("--mean", "1", "--range", "0"), "--range: 0 is not positive. Images of bytes: 255"),
        (("--html", "/proc/no/page.html"), "/proc/no/page.html: cannot write: "),
    ],
)
def test_what_users_get_wrong(
    cli: Cli, model: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    data = tmp_path / "calib.npy"
    found = cli("quantize", model, "--data", data, "-o", tmp_path / "q.onnx", *arguments)
    assert found.code == 1
    assert message in found.stderr
