"""The line closes at any moment: one clear message, and nothing hangs."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.rpc.device_board import Board
from tests.rpc.lines import CutLine
from tests.rpc.model import draw_inputs
from tinydeploy.rpc import Client, LineClosedError, ProcessTransport, SessionLostError, Transport, trace

INPUTS = draw_inputs(np.random.default_rng(8))
PLENTY = 10**9
FIX = "Check the cable and the board's power, then connect again"


def everything(transport: Transport, clock: Callable[[], float] = time.monotonic) -> None:
    client = Client.connect(transport, clock=clock)
    client.describe()
    client.infer(INPUTS)
    trace(client, INPUTS)
    client.reset_model()


def bytes_of_everything(board: Board) -> int:
    line = CutLine(board, PLENTY)
    everything(line, line.clock)
    return PLENTY - line.left


@pytest.mark.parametrize("first", range(4))
def test_closing_after_every_byte_gives_one_message(board: Board, first: int) -> None:
    size = bytes_of_everything(board)
    assert size > 1500
    for left in range(first, size, 4):
        board.boot()
        line = CutLine(board, left)
        with pytest.raises(LineClosedError) as closed:
            everything(line, line.clock)
        assert str(closed.value) == f"test-line: the line closed (the peer closed it). {FIX}"


def test_after_closing_every_call_says_why(board: Board) -> None:
    line = CutLine(board, PLENTY)
    client = Client.connect(line, clock=line.clock)
    line.left = 20
    with pytest.raises(LineClosedError):
        client.describe()
    with pytest.raises(
        SessionLostError, match=r"an earlier call ended the session: the line closed \(the peer"
    ):
        client.run()


@pytest.mark.parametrize("left", [1, 30, 85, 400, 1000])
def test_a_process_that_ends_gives_one_message(program: Path, left: int) -> None:
    text = rf"^board: the line closed \(the process ended with 3\)\. {FIX}$"
    with ProcessTransport([str(program), str(left)]) as transport:
        with pytest.raises(LineClosedError, match=text):
            everything(transport)
        with pytest.raises(LineClosedError, match=text):
            transport.read(0)
