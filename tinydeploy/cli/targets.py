"""Where ``run``, ``verify`` and ``profile`` find their model: a host process, an emulated or a real board."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tinydeploy.boards import Board, load_board, need_firmware
from tinydeploy.build import Compiled
from tinydeploy.device import Source, build_model, connect
from tinydeploy.errors import TinyDeployError
from tinydeploy.rpc import Client
from tinydeploy.toolchain import Toolchain


def board_for(name: str | None, port: str | None, firmware: Path | None) -> Board:
    """The board of that name; without one what answers at ``port``, and without both the host.

    Raises TinyDeployError where the device calls itself something that no board file says.
    """
    if name is not None or port is None:
        return load_board(name or "host")
    if firmware is not None:
        raise TinyDeployError("--firmware is given without --board", fix="Name the board that is to run it")
    with Client.open(port) as client:
        found, where = client.device.board, client.where
    try:
        return load_board(found)
    except TinyDeployError as error:
        shown = found if found.isascii() and found.isprintable() else ascii(found)
        raise TinyDeployError(
            f"the device there is a {shown[:80]}, which is not known here",
            where=where,
            fix="Name its file: --board FILE.toml",
        ) from error


@contextmanager
def model_on_board(
    compiled: Compiled, source: Source, toolchain: Toolchain | None, firmware: Path | None, *, trace: bool
) -> Iterator[Client]:
    """A session with a board that runs the model: a fresh image, ``firmware``, or what --port runs."""
    with (
        image_of(compiled, source.board, toolchain, firmware, trace=trace) as elf,
        connect(source, elf) as client,
    ):
        yield client


@contextmanager
def image_of(
    compiled: Compiled, board: Board, toolchain: Toolchain | None, firmware: Path | None, *, trace: bool
) -> Iterator[Path | None]:
    """The image to run: ``firmware``, else a fresh one where there is a toolchain, else None."""
    if firmware is not None or toolchain is None:
        yield firmware
        return
    with tempfile.TemporaryDirectory(prefix="tinydeploy-") as folder:
        yield build_model(compiled, board, toolchain, Path(folder), trace=trace).firmware.elf


def refuse_board_options(board: Board, *, emulate: bool, port: str | None, firmware: Path | None) -> None:
    """Raise TinyDeployError where options of real boards are given for the host, and for a board without
    firmware of ours, unless it is reached over its port.
    """
    if port is None:
        need_firmware(board)
    if board.is_host and (emulate or port is not None or firmware is not None):
        raise TinyDeployError(
            "the board host takes no --emulate, --port or --firmware", fix="Name a board with --board"
        )
