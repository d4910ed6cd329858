"""Broken ONNX files: each loads to a graph that verifies, or is refused in words; never slow, never large.

Seeds, mutations and limits are in ``fuzz_worker`` and ``mutations``; a failure names its seed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.frontends.onnx.fuzz_worker import MEMORY_BYTES

ROOT = Path(__file__).resolve().parents[3]
SHARDS = 2


@pytest.mark.parametrize("files", [2000, pytest.param(20_000, marks=pytest.mark.full)])
def test_broken_files_are_refused_in_words(files: int) -> None:
    workers = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.frontends.onnx.fuzz_worker", str(shard), str(SHARDS), str(files)],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for shard in range(SHARDS)
    ]
    counts: Counter[str] = Counter()
    for worker in workers:
        output, errors = worker.communicate(timeout=1200)
        assert worker.returncode == 0, f"{output}\n{errors}"
        *broken, summary = [json.loads(line) for line in output.splitlines()]
        assert broken == []
        assert summary["peak_bytes"] < MEMORY_BYTES
        counts.update(summary["counts"])
    structural = counts.pop("structural")
    assert structural >= files // 2
    assert sum(counts.values()) == files
    # All ends are met, so the mutations are neither harmless nor all fatal.
    assert counts["ModelError"] > files // 4
    assert counts["UnsupportedError"] > files // 100
    assert counts["loaded and ran"] > files // 20
