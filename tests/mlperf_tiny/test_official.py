"""The official runner against emulated boards, where a checkout of mlcommons/tiny is at hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlperf_tiny.catalogue import bench_of, model_path
from mlperf_tiny.firmware import build_bench, compile_bench
from mlperf_tiny.official import pty_of, run_official
from tests.mlperf_tiny.conftest import official_repository
from tests.shared_data import SHARED, needs_shared
from tinydeploy.boards import load_board
from tinydeploy.emulate import start_emulator
from tinydeploy.errors import TinyDeployError
from tinydeploy.toolchain import cpu_spec, select


def test_a_folder_without_the_runner_is_named(tmp_path: Path) -> None:
    with pytest.raises(TinyDeployError, match="does not hold the official runner"):
        run_official(tmp_path, bench_of("kws01"), "accuracy", "port", tmp_path, tmp_path)


@needs_shared
@pytest.mark.slow
def test_the_official_runner_judges_keywords(tmp_path: Path) -> None:
    runner = official_repository()
    for name in ("matplotlib", "yaml", "sklearn"):
        pytest.importorskip(name, reason=f"the official runner needs {name}")
    bench, board = bench_of("kws01"), load_board("qemu-m4")
    compiled = compile_bench(bench, model_path(bench, SHARED / "mlperf_tiny"), board)
    toolchain = select(None, cpu_spec(board.chip.cpu))
    built = build_bench(bench, compiled, board, toolchain, tmp_path / "build", emulated=True)
    data = tmp_path / "data" / "kws01"
    data.mkdir(parents=True)
    official = SHARED / "mlperf_tiny" / "datasets" / "kws01"
    rows = [row for row in (official / "y_labels.csv").read_text().splitlines()[:40] if row]
    (data / "y_labels.csv").write_text("\n".join(rows) + "\n")
    for row in rows:
        name = row.split(",")[0]
        (data / name).write_bytes((official / name).read_bytes())
    with start_emulator(board, built.firmware.elf) as emulator, pty_of(emulator.uart) as port:
        judged = run_official(runner, bench, "accuracy", port, data.parent, tmp_path / "run")
    assert judged.passed
    assert "Top 1% = 9" in judged.results.read_text()
