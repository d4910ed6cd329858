"""Submissions: what the official checker asks for, and what must not pass as one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mlperf_tiny.catalogue import bench_of, model_path
from mlperf_tiny.firmware import build_bench, compile_bench
from mlperf_tiny.session import Session
from mlperf_tiny.source_tree import source_tree
from mlperf_tiny.submit import find_runs, read_system, write_submission
from tests.mlperf_tiny.conftest import official_repository
from tests.shared_data import SHARED, needs_shared
from tinydeploy.boards import load_board
from tinydeploy.errors import TinyDeployError
from tinydeploy.toolchain import cpu_spec, select

SYSTEM = {
    "Status": "available",
    "Board Name": "MPS2",
    "Processor(s) Name": "Cortex-M4",
    "Processor(s) Frequencies": "25 MHz",
    "Inference Framework": "tinydeploy",
}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Finished runs of kws01 on an emulated board, their figures made up."""
    folder = tmp_path / "runs"
    lines = {"accuracy": ["Top 1% = 90.1"], "performance": ["Median throughput is     12.500 inf./sec."]}
    for part, text in lines.items():
        identity: dict[str, object] = {"bench": "kws01", "emulated": True}
        with Session(folder / "qemu-m4" / "kws01" / part, identity) as session:
            session.finish(text, [])
    return folder


def test_emulated_results_are_refused(runs: Path, tmp_path: Path) -> None:
    with pytest.raises(TinyDeployError, match="the results of qemu-m4 are from an emulator") as caught:
        write_submission("me", {"qemu-m4": SYSTEM}, find_runs(runs, "qemu-m4"), {}, tmp_path / "tree")
    assert "--dry-run" in str(caught.value)
    assert not (tmp_path / "tree").exists()


def test_a_dry_run_is_marked_everywhere(runs: Path, tmp_path: Path) -> None:
    code = {"kws01": {"README.md": "text\n"}}
    found = find_runs(runs, "qemu-m4")
    tree = write_submission("me", {"qemu-m4": SYSTEM}, found, code, tmp_path / "tree", dry_run=True)
    base = tree / "closed" / "me"
    assert "EMULATED, NOT A SUBMISSION" in (base / "systems" / "qemu-m4.json").read_text()
    assert "EMULATED, NOT A SUBMISSION" in (base / "checklist.md").read_text()
    results = base / "results" / "qemu-m4" / "kws"
    for part in ("accuracy", "performance"):
        assert sorted(path.name for path in (results / part).iterdir()) == [
            "log.txt",
            "results.json",
            "results.txt",
        ]
    with pytest.raises(TinyDeployError, match="is not empty"):
        write_submission("me", {"qemu-m4": SYSTEM}, found, code, tree, dry_run=True)
    with pytest.raises(TinyDeployError, match="is not a folder's name"):
        write_submission("../me", {}, found, code, tmp_path / "other", dry_run=True)


def test_unfinished_runs_and_bad_systems_are_named(tmp_path: Path) -> None:
    with pytest.raises(TinyDeployError, match="holds no runs"):
        find_runs(tmp_path, "qemu-m4")
    (tmp_path / "qemu-m4" / "kws01" / "accuracy").mkdir(parents=True)
    with pytest.raises(TinyDeployError, match="the run of kws01 is not finished"):
        find_runs(tmp_path, "qemu-m4")
    path = tmp_path / "system.json"
    path.write_text(json.dumps({"Status": "available"}))
    with pytest.raises(TinyDeployError, match="lacks Board Name, Processor"):
        read_system(path)
    path.write_text(json.dumps({**SYSTEM, "Status": "soon"}))
    with pytest.raises(TinyDeployError, match="has the status 'soon'"):
        read_system(path)
    path.write_text("[1")
    with pytest.raises(TinyDeployError, match="is not a system description"):
        read_system(path)


@needs_shared
def test_the_sources_build_by_themselves(tmp_path: Path) -> None:
    bench, board = bench_of("kws01"), load_board("qemu-m4")
    toolchain = select("gcc", cpu_spec(board.chip.cpu))
    compiled = compile_bench(bench, model_path(bench, SHARED / "mlperf_tiny"), board)
    built = build_bench(bench, compiled, board, toolchain, tmp_path / "build", optimize="-O1")
    for name, text in source_tree(built, "someone").items():
        path = tmp_path / "code" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    subprocess.run(["sh", str(tmp_path / "code" / "build.sh")], check=True, capture_output=True)
    assert (tmp_path / "code" / "kws01.elf").stat().st_size > 50_000


def test_the_official_checker_accepts_a_dry_run(runs: Path, tmp_path: Path) -> None:
    checker = official_repository() / "tools" / "submission" / "submission_checker.py"
    pytest.importorskip("pandas", reason="the official checker needs pandas")
    found = find_runs(runs, "qemu-m4")
    code = {"kws01": {"README.md": "text\n"}}
    tree = write_submission("me", {"qemu-m4": SYSTEM}, found, code, tmp_path / "tree", dry_run=True)
    done = subprocess.run(
        [sys.executable, str(checker), "--input", str(tree)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "SUMMARY: submission looks OK" in done.stdout + done.stderr
