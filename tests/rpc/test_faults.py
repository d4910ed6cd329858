"""A line that does everything wrong: each call succeeds with the right bytes or fails with a clear line."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from tests.rpc.device_board import Board
from tests.rpc.faults import FaultyTransport, Rates
from tests.rpc.lines import FaultyLine
from tests.rpc.model import draw_inputs, expected_outputs, expected_rows
from tinydeploy.errors import DeviceError
from tinydeploy.rpc import (
    Client,
    LineClosedError,
    NoAnswerError,
    ProcessTransport,
    SessionLostError,
    Timeouts,
    first_difference,
)

CLEAN = (NoAnswerError, SessionLostError, LineClosedError)


def talk(
    line: FaultyLine, board: Board, random: np.random.Generator, frames: int, tally: Counter[str]
) -> None:
    """One session: runs and traces until it fails or `frames` are through. Raises what ends it early."""
    client = Client.connect(line, clock=line.clock)
    name = client.describe().name
    assert name == "fake"
    counter = 0
    while line.frames < frames:
        inputs = draw_inputs(random)
        reboots = line.reboots
        if random.random() < 0.1:
            assert first_difference(client, expected_rows(inputs, 0), inputs) is None
            outputs, counter = client.read_outputs(), 0
            tally["traces"] += 1
        else:
            result = client.infer(inputs)
            assert result.count == 1000
            outputs = result.outputs
            tally["runs"] += 1
        for got, expected in zip(outputs, expected_outputs(inputs, counter), strict=True):
            np.testing.assert_array_equal(got, expected, strict=True)
        counter += 1
        if line.reboots == reboots:
            assert board.counter == counter


def torture(board: Board, seed: int, frames: int, rates: Rates | None = None) -> Counter[str]:
    """Sessions over a faulty line until it has carried `frames`; how they went."""
    line = FaultyLine(board, seed, rates)
    random = np.random.default_rng(seed)
    tally: Counter[str] = Counter()
    while line.frames < frames:
        try:
            talk(line, board, random, frames, tally)
        except CLEAN as error:
            tally[type(error).__name__] += 1
            tally["unclear"] += "\n" in str(error) or not str(error).startswith("test-line: ")
    assert not tally["unclear"]
    return tally


@pytest.mark.parametrize("seed", range(3))
def test_ten_thousand_frames(board: Board, seed: int) -> None:
    tally = torture(board, seed, 10_000)
    assert tally["runs"] > 100
    assert tally["traces"] > 10
    assert tally["SessionLostError"] > 0


def test_a_hundred_thousand_frames(board: Board) -> None:
    tally = torture(board, 4711, 100_000)
    assert tally["runs"] > 1_000
    assert tally["SessionLostError"] > 0


def test_a_line_of_delays_and_repeats_alone_fails_no_call(board: Board) -> None:
    rates = Rates(drop=0, repeat=0.5, flip=0, insert=0, remove=0, cut=0, delay=0.3, reboot=0)
    tally = torture(board, 1, 10_000, rates)
    assert not tally["SessionLostError"] + tally["NoAnswerError"]


def test_a_hopeless_line_delivers_nothing_wrong(board: Board) -> None:
    rates = Rates(drop=0.2, repeat=0.2, flip=0.3, insert=0.2, remove=0.2, cut=0.1, delay=0.3, reboot=0.01)
    tally = torture(board, 2, 10_000, rates)
    assert tally["SessionLostError"] + tally["NoAnswerError"] > 100


def test_five_hundred_frames_to_a_process_under_sanitizers(program: Path) -> None:
    """Without restarts and with patience no call fails, however slow this machine."""
    patient = Timeouts(call_s=300, retransmit_s=0.02, retransmit_max_s=0.1, working_s=0.05)
    random = np.random.default_rng(5)
    line = FaultyTransport(ProcessTransport([str(program)]), seed=5)
    with Client.connect(line, timeouts=patient) as client:
        counter = 0
        while line.frames < 500:
            inputs = draw_inputs(random)
            outputs = client.infer(inputs).outputs
            for got, expected in zip(outputs, expected_outputs(inputs, counter), strict=True):
                np.testing.assert_array_equal(got, expected, strict=True)
            counter += 1
    assert counter > 10


def test_no_error_but_these_is_clean() -> None:
    assert all(issubclass(error, DeviceError) for error in CLEAN)
