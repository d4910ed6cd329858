"""The report: our figures beside the best published ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf_tiny.catalogue import bench_of
from mlperf_tiny.report import Row, best_published, html, markdown, measure_bench, recorded_accuracy
from tests.shared_data import SHARED, needs_shared
from tinydeploy.boards import load_board


def row(board: str = "qemu-m4") -> Row:
    origin = "estimated from the class table of cortex-m4"
    return Row(
        board, "kws01", 2_656_768, 5_268_794, 6_740_000, origin, 3.7, "90.1 %", 24_000, 46_000, "L4", 1.95
    )


def test_ratios_and_pages() -> None:
    assert row().ratio == pytest.approx(6_740_000 / 2_656_768 / 1.95)
    assert "| qemu-m4 | kws01 | 5,268,794 | 6,740,000 | 3.70 | 2.54 | 1.95 (L4) | 1.30 |" in markdown([row()])
    page = html([row("<script>")])
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_the_best_published_result_of_a_core() -> None:
    best = best_published("cortex-m7", "ad01")
    assert best is not None
    assert (best.chip, best.cycles_per_mac) == ("STM32H7A3", 1.15)
    assert best_published("cortex-m4", "ic02") is None


def test_an_accuracy_that_was_recorded(tmp_path: Path) -> None:
    assert recorded_accuracy(tmp_path) == "-"
    (tmp_path / "accuracy").mkdir()
    (tmp_path / "accuracy" / "results.txt").write_text("x ulp-mlperf: Top 1% = 90.1\n")
    assert recorded_accuracy(tmp_path) == "90.1 %"


@needs_shared
@pytest.mark.emulated
@pytest.mark.slow
def test_a_benchmark_on_an_emulated_board() -> None:
    found = measure_bench(bench_of("ad01"), load_board("qemu-m4"), SHARED / "mlperf_tiny", None)
    assert found.macs == 264_192
    assert 0.9 < found.cycles / found.instructions < 1.5
    assert found.published_chip == "STM32L4R5"
