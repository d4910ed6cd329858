"""The bench itself: its files agree with each other, and its comparisons find what they should."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.__main__ import merge
from benchmarks.measure import Row, regressions
from benchmarks.models import MODELS, model_path
from benchmarks.peers import load_peers
from benchmarks.results import load_results, save_results
from benchmarks.table import BEGIN, DOCUMENT, END, document_with, render
from benchmarks.twins import twin_of
from tinydeploy import demo
from tinydeploy.errors import TinyDeployError
from tinydeploy.frontends import load
from tinydeploy.ir import verify

ROW = Row(
    model="kws",
    board="qemu-m4",
    core="cortex-m4",
    compiler="gcc 12.2.1",
    macs=1000,
    instructions=2000,
    instructions_per_mac=2.0,
    cycle_sum=3000,
    code_bytes=500,
)


def test_the_document_shows_the_stored_rows() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    generated = text.split(BEGIN)[1].split(END)[0].strip()
    assert generated == render(load_results(), load_peers()).strip(), "run make bench"


def test_results_survive_a_round_trip(tmp_path: Path) -> None:
    rows = [ROW, replace(ROW, model="big", cycle_sum=None, error="too large")]
    save_results(rows, tmp_path / "results.json")
    assert load_results(tmp_path / "results.json") == rows
    assert load_results(tmp_path / "none.json") == []


def test_rows_are_stored_in_one_order() -> None:
    kws, demo_row = ROW, replace(ROW, model="demo")
    other = replace(ROW, board="a-board")
    assert merge([demo_row, kws], [other]) == [other, kws, demo_row]
    assert merge([replace(kws, macs=5)], [kws]) == [replace(kws, macs=5)]


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({}, []),
        ({"instructions": 2020}, []),
        ({"instructions": 1000, "code_bytes": 100}, []),
        ({"instructions": 2040}, ["kws on qemu-m4: instructions was 2,000 and is 2,040, +2.0%"]),
        ({"cycle_sum": None}, ["kws on qemu-m4: cycle_sum was 3,000 and is None"]),
        ({"arena_bytes": 4}, ["kws on qemu-m4: arena_bytes was 0 and is 4"]),
        ({"error": "it broke"}, ["kws on qemu-m4 no longer works: it broke"]),
        ({"board": "new"}, ["kws on new is not stored"]),
    ],
)
def test_regressions(change: dict[str, object], wanted: list[str]) -> None:
    assert regressions([Row.from_json({**ROW.json(), **change})], [ROW]) == wanted


def test_peers_and_bars() -> None:
    """The bars are the first peer's instructions; its cycle sums, rounded up, are those of FACTS."""
    peers = load_peers()
    first = peers.cores["cortex-m4"][0]
    bars = peers.bars["cortex-m4"]
    assert bars["instructions"] == first.figures["instructions"]
    assert set(bars["code_bytes"].values()) == {24 * 1024}
    for model, cycles in bars["cycle_sum"].items():
        assert first.figures["cycle_sum"][model] == pytest.approx(cycles, rel=2e-3)
        assert model in MODELS


def test_the_tables() -> None:
    text = render([ROW, replace(ROW, model="vww", error="the board is too small")], load_peers())
    assert "| kws | 1,000 | 2,000 | 2.000 | 3,000 | 500 |" in text
    assert "vww: the board is too small." in text
    assert "| TFLM + CMSIS-NN, best flags per model | 7,697,776 (3848.89×) |" in text


def test_only_the_generated_part_of_the_document_changes() -> None:
    text = f"before\n{BEGIN}\nold\n{END}\nbehind\n"
    assert document_with(text, "new") == f"before\n{BEGIN}\nnew\n{END}\nbehind\n"
    with pytest.raises(ValueError, match="values to unpack"):
        document_with("no marks", "new")


def test_a_model_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("benchmarks.models.MLPERF", tmp_path)
    with pytest.raises(TinyDeployError, match="Measure the bundled model: --models demo"):
        model_path("kws")


def test_a_twin_has_the_same_layers_and_other_content() -> None:
    graph = load(demo.model_path())
    twin = twin_of(graph, seed=3)
    verify(twin)
    assert twin == twin_of(graph, seed=3)
    assert [node.op for node in twin.nodes] == [node.op for node in graph.nodes]
    assert not {value.name for value in twin.values} & {value.name for value in graph.values}
    (weights,) = {node.inputs[1] for node in graph.nodes if node.op == "FullyConnected"}
    assert weights is not None
    assert np.all(twin.array(weights) != 0)
    assert not np.array_equal(twin.array(weights), graph.array(weights))
    convolution = next(node for node in graph.nodes if node.op == "Conv2D")
    assert convolution.inputs[1] is not None
    before, after = (g.type(convolution.inputs[1]).quant for g in (graph, twin))
    assert before is not None
    assert after is not None
    assert before.scales != after.scales
    assert sorted(before.scales) == sorted(after.scales)
