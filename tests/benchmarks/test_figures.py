"""Figures measured anew: no regression against results.json, no bar passed, twins alike."""

from __future__ import annotations

import pytest

from benchmarks.measure import measure_graph, regressions
from benchmarks.models import model_path
from benchmarks.peers import load_peers
from benchmarks.results import load_results
from benchmarks.twins import twin_of
from tests.benchmarks.conftest import Measured
from tests.shared_data import needs_shared
from tinydeploy.boards import load_board
from tinydeploy.frontends import load

BOARD = "qemu-m4"
CHEAP = ("kws", "ad", "sww", "demo")
TOLERANCE = 0.01
TWIN_TOLERANCE = 0.02

pytestmark = pytest.mark.emulated


def of_models(*names: str, slow: tuple[str, ...] = ()) -> list[object]:
    """Parameters; those that are not cheap are left out of the fast tier."""
    return [
        pytest.param(
            name,
            marks=[
                *([] if name == "demo" else [needs_shared]),
                *([pytest.mark.slow] if name in slow else []),
            ],
        )
        for name in names
    ]


@pytest.mark.parametrize("model", of_models(*CHEAP))
def test_no_regression(model: str, measured: Measured) -> None:
    assert not regressions([measured(model, BOARD)], load_results(), TOLERANCE)


@pytest.mark.full
@pytest.mark.parametrize(
    ("model", "board"),
    sorted({(row.model, row.board) for row in load_results()} - {(m, BOARD) for m in CHEAP}),
)
@needs_shared
def test_no_regression_anywhere(model: str, board: str, measured: Measured) -> None:
    assert not regressions([measured(model, board)], load_results(), TOLERANCE)


@pytest.mark.parametrize("model", of_models("kws", "vww", "ic", "ad", "sww", slow=("vww", "ic")))
def test_parity_with_the_best_library(model: str, measured: Measured) -> None:
    """Instructions and cycle sums of TFLM with CMSIS-NN, best flags for each model; 24 KiB of code."""
    row = measured(model, BOARD)
    assert row.error is None
    for key, bars in load_peers().bars[row.core].items():
        assert getattr(row, key) <= bars[model], f"{key} of {model}"


@needs_shared
@pytest.mark.parametrize(
    "model", ["kws", "ad", *(pytest.param(m, marks=pytest.mark.full) for m in ("vww", "ic", "sww"))]
)
def test_a_twin_costs_the_same(model: str, measured: Measured) -> None:
    row = measured(model, BOARD)
    twin = measure_graph(twin_of(load(model_path(model)), seed=1), model, load_board(BOARD))
    for key in ("instructions", "cycle_sum", "code_bytes", "flash_bytes", "arena_bytes", "stack_bytes"):
        ours, theirs = getattr(row, key), getattr(twin, key)
        assert abs(theirs - ours) <= TWIN_TOLERANCE * ours, f"{key}: {ours:,}, of the twin {theirs:,}"
