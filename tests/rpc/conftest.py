"""One build of the board per worker; every test gets it freshly booted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.rpc.device_board import SANITIZERS, Board, compile_board
from tests.rpc.lines import DirectLine
from tinydeploy.rpc import Client


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The board as a shared library."""
    return compile_board("library", tmp_path_factory.mktemp("rpc") / "board.so", "-shared", "-fPIC")


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The board as a program on standard input and output, under ASan and UBSan."""
    return compile_board("process", tmp_path_factory.mktemp("rpc") / "board", *SANITIZERS)


@pytest.fixture(scope="session")
def powered_board(library: Path) -> Board:
    return Board(library)


@pytest.fixture
def board(powered_board: Board) -> Board:
    """The board, just booted."""
    powered_board.boot()
    return powered_board


@pytest.fixture
def line(board: Board) -> DirectLine:
    """A perfect line to the board."""
    return DirectLine(board)


@pytest.fixture
def client(line: DirectLine) -> Iterator[Client]:
    """A session over the perfect line."""
    with Client.connect(line, clock=line.clock) as connected:
        yield connected
