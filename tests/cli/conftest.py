"""Runs the command line in this process, as a shell would see it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.tflite_builder import ModelBuilder
from tinydeploy.cli import main


@dataclass(frozen=True, slots=True)
class Outcome:
    """Exit code and output of one command."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> dict[str, Any]:
        """The one object on stdout; fails where there is anything else."""
        found = json.loads(self.stdout)
        assert isinstance(found, dict)
        return found


Cli = Callable[..., Outcome]


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """``cli("compile", path, "-o", folder)``."""

    def run(*arguments: object) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["tinydeploy", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return run


@pytest.fixture
def small_model(tmp_path: Path) -> Path:
    """A convolution, a pool, a dense layer and a softmax."""
    builder = ModelBuilder().input((1, 8, 8, 3), zero_point=-128, scale=1 / 255)
    builder.conv2d(8, (3, 3), stride=(2, 2), activation="RELU").conv2d(4, (1, 1)).average_pool((4, 4))
    builder.reshape((1, 4)).fully_connected(3).softmax()
    path = tmp_path / "small.tflite"
    path.write_bytes(builder.build())
    return path
