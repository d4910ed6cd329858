"""Which tool flashes a board; the board's file names it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from tinydeploy.boards import Board, Probe
from tinydeploy.errors import TinyDeployError
from tinydeploy.flash.openocd import OpenOcd


class Flasher(Protocol):
    """A tool that programs a board through its probe. It never touches option bytes or fuses."""

    name: str

    def command(self, elf: Path) -> list[str]:
        """The command line that programs, verifies and starts the image."""

    def flash(self, elf: Path) -> None:
        """Carry it out; raises ToolError in one line where the tool or the probe is missing."""


_TOOLS: dict[str, Callable[[str, Probe, str | None], Flasher]] = {"openocd": OpenOcd}


def flasher_for(board: Board, probe: str | None = None) -> Flasher:
    """The tool for a board; ``probe`` is the serial number of the probe where several are connected."""
    if board.probe is None:
        emulated = any(choice.kind != "native" for choice in board.emulators)
        raise TinyDeployError(
            "has no debug probe" + (": it exists only as an emulator" if emulated else ""),
            where=f"board {board.name}",
            fix="Add --emulate" if emulated else "Choose a board that can be flashed",
        )
    return _TOOLS[board.probe.tool](board.name, board.probe, probe)


def flash_board(board: Board, elf: Path, probe: str | None = None) -> None:
    """Program an image into a real board, verify it and let it run."""
    flasher_for(board, probe).flash(elf)
