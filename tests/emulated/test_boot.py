"""Images boot, measure themselves, talk, restart, on every board, with both compilers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.emulated.conftest import COMPILERS, PLACES, Bench, Builder
from tinydeploy.boards import load_board
from tinydeploy.emulate import Emulator
from tinydeploy.firmware import Firmware
from tinydeploy.rpc import Client, CounterUnit, Level, RefusedError

pytestmark = pytest.mark.emulated
Start = Callable[[str, str, Firmware], Emulator]

everywhere = pytest.mark.parametrize(("board", "kind"), PLACES, ids=["m4-qemu", "m4-unicorn", "f746"])
compilers = pytest.mark.parametrize("compiler", COMPILERS)


@everywhere
@compilers
def test_the_board_boots_at_its_clock(
    builder: Builder, start: Start, board: str, kind: str, compiler: str
) -> None:
    bench = Bench(start(board, kind, builder.bench(board, compiler)))
    assert bench.greeting == [0, 0, load_board(board).clock_hz]


@everywhere
@compilers
def test_the_counter_counts_single_instructions(
    builder: Builder, start: Start, board: str, kind: str, compiler: str
) -> None:
    """300,000 instructions of the loop, two of the call around it, each time."""
    bench = Bench(start(board, kind, builder.bench(board, compiler)))
    assert {bench.ask("m") for _ in range(5)} == {"300002"}


@everywhere
def test_bytes_interrupt_sleep_and_computation(builder: Builder, start: Start, board: str, kind: str) -> None:
    """All bytes of a burst arrive, those during a measurement too; floats survive the interrupts."""
    bench = Bench(start(board, kind, builder.bench(board)))
    echoed = [chr(33 + index % 60) for index in range(400)]
    bench.send("mf" + "".join(echoed))
    assert int(bench.line()) >= 300002
    assert bench.line() == "3"
    assert [bench.line() for _ in echoed] == [str(ord(byte)) for byte in echoed]


@everywhere
def test_a_restart_boots_again(builder: Builder, start: Start, board: str, kind: str) -> None:
    bench = Bench(start(board, kind, builder.bench(board)))
    assert bench.everything("r").decode().split() == ["0", "0", str(load_board(board).clock_hz)]
    assert bench.ask("f") == "3"


@everywhere
@compilers
def test_a_model_is_served(builder: Builder, start: Start, board: str, kind: str, compiler: str) -> None:
    emulator = start(board, kind, builder.model(board, compiler))
    with Client.connect(emulator.uart) as client:
        assert client.device.board == board
        assert client.device.level is Level.IO
        assert client.describe().name == "tiny"
        data = np.arange(16, dtype=np.int8).reshape(1, 16)
        answers = [client.infer([data]) for _ in range(3)]
        assert all(np.array_equal(answer.outputs[0], data + 1) for answer in answers)
        assert len({answer.count for answer in answers}) == 1
        with pytest.raises(RefusedError):
            client.read_memory(0x20000000, 4)


@everywhere
def test_a_debug_image_shows_its_memory(builder: Builder, start: Start, board: str, kind: str) -> None:
    emulator = start(board, kind, builder.model(board, level="debug"))
    chip = load_board(board).chip
    assert chip.layout is not None
    with Client.connect(emulator.uart) as client:
        assert client.device.level is Level.DEBUG
        ram = chip.region(chip.layout.data)
        free = ram.end - 4096
        client.write_memory(free, b"tinydeploy")
        assert client.read_memory(free, 10) == b"tinydeploy"
        flash = chip.region(chip.layout.code)
        assert client.read_memory(flash.origin, 4) != bytes(4)
        for forbidden in (
            lambda: client.read_memory(0x60000000, 4),
            lambda: client.write_memory(flash.origin, b"x"),
        ):
            with pytest.raises(RefusedError):
                forbidden()


def test_what_counts_is_told(builder: Builder, start: Start) -> None:
    for board, unit, hz in (
        ("qemu-m4", CounterUnit.INSTRUCTIONS, 0),
        ("nucleo-f746", CounterUnit.CYCLES, 216_000_000),
    ):
        emulator = start(board, "unicorn", builder.model(board))
        with Client.connect(emulator.uart) as client:
            assert (client.device.counter_unit, client.device.counter_hz) == (unit, hz)
