"""The real pyOCD with a probe whose debug port is the model of a chip."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.flash.images import pattern, write_elf
from tinydeploy.boards import Board, Probe, load_board
from tinydeploy.errors import ToolError
from tinydeploy.firmware import Segment
from tinydeploy.flash import flash_board
from tinydeploy.flash.pyocd import PyOcd

FLASH = 0x0800_0000
SEGMENTS = (Segment(FLASH, pattern(3000)), Segment(FLASH + 0x8004, pattern(6, 3)))
BOARD = replace(load_board("nucleo-f746"), probes=(Probe("pyocd", "stm32f767zi"),))

needs_pyocd = pytest.mark.skipif(importlib.util.find_spec("pyocd") is None, reason="pyocd is not installed")


@pytest.fixture
def elf(tmp_path: Path) -> Path:
    return write_elf(tmp_path / "my image.elf", SEGMENTS, FLASH)


def through_the_model(monkeypatch: pytest.MonkeyPatch, stored: Path) -> None:
    """Let the tool's process have a probe of ours."""
    command = PyOcd.command

    def wrapped(self: PyOcd, image: Path) -> list[str]:
        behind = command(self, image)
        assert behind[1:3] == ["-m", "tinydeploy.flash.pyocd_worker"]
        return [sys.executable, "-m", "tests.flash.pyocd_probe", str(stored), *behind[3:]]

    monkeypatch.setattr(PyOcd, "command", wrapped)


@needs_pyocd
def test_an_image_is_written_and_verified(elf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    through_the_model(monkeypatch, tmp_path / "flash")
    stages: list[tuple[str, int, int | None]] = []
    flash_board(BOARD, elf, "MODEL1", progress=lambda *what: stages.append(what))
    content = (tmp_path / "flash").read_bytes()
    for segment in SEGMENTS:
        assert content[segment.address - FLASH : segment.end - FLASH] == segment.data
    assert ("writing", 100, 100) in stages
    assert stages[-1][0] == "verifying"


@needs_pyocd
def test_another_core_is_refused(elf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    through_the_model(monkeypatch, tmp_path / "flash")
    text = load_board("qemu-m4").path.read_text() + '[probe]\ntool = "pyocd"\nconfig = "stm32f767zi"\n'
    (tmp_path / "m4.toml").write_text(text)
    with pytest.raises(
        ToolError, match=r"the connected chip is not this board's: its core is a cortex-m7, .* a c"
    ):
        flash_board(load_board(tmp_path / "m4.toml"), elf)
    assert set((tmp_path / "flash").read_bytes()) == {0xFF}


@needs_pyocd
def test_no_probe_is_one_line(elf: Path) -> None:
    with pytest.raises(ToolError, match=r"board nucleo-f746: no debug probe is connected, .*\. Connect the"):
        flash_board(BOARD, elf)


def test_pyocd_is_not_installed(elf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinydeploy.flash.pyocd.importlib.util.find_spec", lambda _name: None)
    with pytest.raises(ToolError) as caught:
        flash_board(BOARD, elf)
    assert str(caught.value) == (
        "board nucleo-f746: pyocd is not installed. "
        'Install it (pip install "tinydeploy[pyocd]"), or use --emulate'
    )


def test_the_command_line() -> None:
    board: Board = BOARD
    from tinydeploy.flash.base import Job

    command = PyOcd(Job(board, board.probes[0], "066BFF31")).command(Path("/build/image.elf"))
    assert command == [
        sys.executable,
        "-m",
        "tinydeploy.flash.pyocd_worker",
        str(board.path),
        "stm32f767zi",
        "/build/image.elf",
        "066BFF31",
    ]
