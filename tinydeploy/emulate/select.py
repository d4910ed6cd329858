"""Which emulator runs a board: the first of its list that is installed, or the one asked for."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path

from tinydeploy.boards import Board, EmulatorChoice
from tinydeploy.emulate.base import Emulator
from tinydeploy.emulate.qemu import QemuEmulator, find_qemu, install_qemu
from tinydeploy.emulate.rp2040 import Rp2040Emulator, find_rp2040js, install_rp2040js
from tinydeploy.errors import ToolError

_INSTALL: dict[str, Callable[[Board], str]] = {
    "qemu": install_qemu,
    "rp2040js": install_rp2040js,
    "unicorn": lambda _board: 'pip install "tinydeploy[emulator]"',
}


def available_emulators(board: Board) -> tuple[str, ...]:
    """The kinds of emulators of a board that are installed, best first."""
    return tuple(choice.kind for choice in board.emulators if _is_installed(choice, board))


def open_emulator(board: Board, kind: str | None = None) -> Emulator:
    """The emulator of a board, not started. Raises ToolError that says what to install."""
    choices = [choice for choice in board.emulators if choice.kind in _INSTALL]
    if not choices:
        raise ToolError("has no emulator", where=f"board {board.name}", fix="Leave out --emulate")
    if kind is not None:
        choices = [choice for choice in choices if choice.kind == kind]
        if not choices:
            kinds = ", ".join(choice.kind for choice in board.emulators)
            raise ToolError(f"has no emulator {kind!r}. It has: {kinds}", where=f"board {board.name}")
    for choice in choices:
        if _is_installed(choice, board):
            return _make(choice, board)
    commands = " or ".join(_INSTALL[choice.kind](board) for choice in choices)
    raise ToolError("no emulator is installed", where=f"board {board.name}", fix=f"Install one: {commands}")


def start_emulator(board: Board, elf: Path, kind: str | None = None) -> Emulator:
    """A running emulator with an image in its flash; the caller stops it, best with ``with``."""
    emulator = open_emulator(board, kind)
    try:
        emulator.start(elf)
    except BaseException:
        emulator.stop()
        raise
    return emulator


def _is_installed(choice: EmulatorChoice, board: Board) -> bool:
    if choice.kind == "qemu":
        return find_qemu(board) is not None
    if choice.kind == "rp2040js":
        return find_rp2040js() is not None
    return choice.kind == "unicorn" and importlib.util.find_spec("unicorn") is not None


def _make(choice: EmulatorChoice, board: Board) -> Emulator:
    if choice.kind == "qemu":
        return QemuEmulator(board, choice.machine, choice.properties)
    if choice.kind == "rp2040js":
        return Rp2040Emulator(board)
    from tinydeploy.emulate.chip import UnicornEmulator  # unicorn is an optional dependency

    return UnicornEmulator(board)
