"""Which tool flashes a board: the first of the board's list that is there, or the one asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tinydeploy.boards import Board
from tinydeploy.errors import TinyDeployError
from tinydeploy.flash.base import Flasher, Job, Progress, no_progress
from tinydeploy.flash.commands import Avrdude, Bossac, CubeProgrammer, Teensy
from tinydeploy.flash.drive import Drive
from tinydeploy.flash.esptool import Esptool
from tinydeploy.flash.gdb_remote import GdbRemote
from tinydeploy.flash.openocd import OpenOcd
from tinydeploy.flash.pyocd import PyOcd

_TOOLS: dict[str, Callable[[Job], Flasher]] = {
    "openocd": OpenOcd,
    "pyocd": PyOcd,
    "drive": Drive,
    "gdb": GdbRemote,
    "esptool": Esptool,
    "avrdude": Avrdude,
    "bossac": Bossac,
    "teensy": Teensy,
    "cubeprogrammer": CubeProgrammer,
}


def flashers_for(board: Board, probe: str | None = None) -> tuple[Flasher, ...]:
    """Every way to flash a board, best first; ``probe`` is the serial number, port or folder asked for."""
    return tuple(_TOOLS[found.tool](Job(board, found, probe)) for found in board.probes)


def flasher_for(board: Board, probe: str | None = None, tool: str | None = None) -> Flasher:
    """The way to flash a board: ``tool``, or the first that is installed, or else the first of all.

    Raises TinyDeployError where the board has no way, or not that one.
    """
    choices = flashers_for(board, probe)
    if not choices:
        emulated = any(choice.kind != "native" for choice in board.emulators)
        raise TinyDeployError(
            "has no debug probe" + (": it exists only as an emulator" if emulated else ""),
            where=f"board {board.name}",
            fix="Add --emulate" if emulated else "Choose a board that can be flashed",
        )
    if tool is not None:
        for choice in choices:
            if choice.name == tool:
                return choice
        known = ", ".join(choice.name for choice in choices)
        raise TinyDeployError(
            f"is not flashed by {tool!r}. It is flashed by: {known}", where=f"board {board.name}"
        )
    return next((choice for choice in choices if choice.is_available()), choices[0])


def flash_board(
    board: Board,
    elf: Path,
    probe: str | None = None,
    *,
    tool: str | None = None,
    progress: Progress = no_progress,
) -> Flasher:
    """Program an image into a real board, verify it and let it run. Returns the tool that did it."""
    flasher = flasher_for(board, probe, tool)
    flasher.flash(elf, progress)
    return flasher
