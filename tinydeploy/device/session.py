"""How a command reaches its board: an emulator, a serial port, or a probe and then the port."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tinydeploy.boards import Board
from tinydeploy.emulate import start_emulator
from tinydeploy.errors import TinyDeployError
from tinydeploy.firmware import FaultWatch, read_image
from tinydeploy.flash import flash_board
from tinydeploy.rpc import Client


@dataclass(frozen=True, slots=True)
class Source:
    """Where a board is. ``emulate`` runs an image; ``port`` names the line of one that runs already."""

    board: Board
    emulate: bool = False
    port: str | None = None


@contextmanager
def emulated(board: Board, elf: Path) -> Iterator[Client]:
    """A session with a fresh emulated board that runs ``elf``; a fault on it is one error at once."""
    with start_emulator(board, elf) as emulator:
        line = FaultWatch(emulator.uart, read_image(elf))
        with Client.connect(line) as client:
            yield client


@contextmanager
def connect(source: Source, elf: Path | None) -> Iterator[Client]:
    """A session with the board, with ``elf`` on it where one is given; closed at the end.

    Raises TinyDeployError where the board cannot be reached, with what to do.
    """
    if source.emulate:
        if source.port is not None:
            raise TinyDeployError("--emulate and --port are both given", fix="Give one of them")
        if elf is None:
            raise TinyDeployError("an emulated board needs an image", fix="Give a MODEL or --firmware")
        with emulated(source.board, elf) as client:
            yield client
        return
    if source.port is None:
        raise TinyDeployError(
            f"it is not said how to reach {source.board.name}",
            fix="Give --emulate, or --port with the board's serial port",
        )
    if elf is not None and "://" not in source.port:
        flash_board(source.board, elf)
    baud = source.board.uart.baud if source.board.uart else 115200
    with Client.open(source.port, baud) as client:
        yield client
