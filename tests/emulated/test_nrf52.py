"""The nRF52833 and the nRF52840 on our own model: clock, line, pins of two ports, a model's bits."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.emulated.conftest import COMPILERS, Bench, Builder
from tests.tflite_builder import ModelBuilder
from tinydeploy.boards import Uart, load_board
from tinydeploy.build import compile_graph
from tinydeploy.device import build_model, emulated, verify_device
from tinydeploy.emulate import Emulator
from tinydeploy.emulate.blocks import nrf52
from tinydeploy.emulate.chip import UnicornEmulator
from tinydeploy.firmware import Firmware
from tinydeploy.frontends.tflite import load_bytes
from tinydeploy.kernels.targets import target_of
from tinydeploy.rpc import Client, CounterUnit, LineClosedError
from tinydeploy.toolchain import cpu_spec, select
from tinydeploy.verify import make_samples

pytestmark = pytest.mark.emulated
Start = Callable[[str, str, Firmware], Emulator]
BOARDS = ("bbc-microbit-v2", "arduino-nano-33-ble")
CLOCK_HZ = 64_000_000
PSEL_TXD, PSEL_RXD = 0x50C, 0x514
HFCLKSTAT = 0x4000040C

everywhere = pytest.mark.parametrize("board", BOARDS)


@everywhere
@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_board_boots_and_restarts_at_its_clock(
    builder: Builder, start: Start, board: str, compiler: str
) -> None:
    found = load_board(board)
    assert found.clock is not None
    assert found.clock.core_hz == CLOCK_HZ
    bench = Bench(start(board, "unicorn", builder.bench(board, compiler)))
    assert bench.greeting == [0, 0, CLOCK_HZ]
    assert {bench.ask("m") for _ in range(3)} == {"300002"}
    assert bench.everything("r").decode().split() == ["0", "0", str(CLOCK_HZ)]
    assert bench.ask("f") == "3"


@everywhere
def test_the_crystal_runs_and_the_line_is_on_its_pins(builder: Builder, board: str) -> None:
    with UnicornEmulator(load_board(board)) as emulator:
        emulator.start(builder.bench(board).elf)
        Bench(emulator)
        clock, uart = emulator.machine.bus.models["clock"], emulator.machine.bus.models["uart0"]
        assert isinstance(clock, nrf52.Clock)
        assert clock.is_crystal
        assert clock.clock_hz(None) == CLOCK_HZ
        pins = {"bbc-microbit-v2": (6, 32 + 8), "arduino-nano-33-ble": (32 + 3, 32 + 10)}
        assert (uart.read(PSEL_TXD), uart.read(PSEL_RXD)) == pins[board]


def test_without_a_crystal_the_board_still_talks(builder: Builder) -> None:
    board = load_board(BOARDS[0])
    with UnicornEmulator(board, stuck_low={HFCLKSTAT: 1}) as emulator:
        emulator.start(builder.bench(BOARDS[0]).elf)
        assert Bench(emulator).greeting == [1, 1, board.chip.reset_hz]


@everywhere
def test_signals_are_high_after_boot(builder: Builder, board: str) -> None:
    found = load_board(board)
    with UnicornEmulator(found) as emulator:
        emulator.start(builder.bench(board).elf)
        Bench(emulator)
        edges = {(edge.port, edge.pin, edge.high) for edge in emulator.machine.edges}
    expected = {(signal.port, signal.pin, True) for signal in found.signals}
    line = found.pins[0]  # TXD idles high
    assert len(expected) == 3
    assert edges == expected | {(line.port, line.pin, True)}


def test_bytes_interrupt_sleep_and_computation(builder: Builder, start: Start) -> None:
    bench = Bench(start(BOARDS[0], "unicorn", builder.bench(BOARDS[0])))
    echoed = [chr(33 + index % 60) for index in range(400)]
    bench.send("mf" + "".join(echoed))
    assert int(bench.line()) >= 300_002
    assert bench.line() == "3"
    assert [bench.line() for _ in echoed] == [str(ord(byte)) for byte in echoed]


def test_a_line_at_another_rate_is_told(builder: Builder) -> None:
    faster = dataclasses.replace(load_board(BOARDS[0]), uart=Uart("uart0", 230400))
    with UnicornEmulator(faster) as emulator:
        emulator.start(builder.bench(BOARDS[0]).elf)
        with pytest.raises(
            LineClosedError, match=r"uart0 sends at 1152\d\d baud, the board's line has 230400"
        ):
            read_for_ever(emulator)


@everywhere
def test_a_model_is_served(builder: Builder, start: Start, board: str) -> None:
    with Client.connect(start(board, "unicorn", builder.model(board)).uart) as client:
        assert client.device.board == board
        assert (client.device.counter_unit, client.device.counter_hz) == (CounterUnit.CYCLES, CLOCK_HZ)
        data = np.arange(16, dtype=np.int8).reshape(1, 16)
        assert np.array_equal(client.infer([data]).outputs[0], data + 1)


@everywhere
def test_a_models_rows_have_the_references_bits(tmp_path: Path, board: str) -> None:
    graph = ModelBuilder(seed=5).input((1, 8, 8, 2)).conv2d(8, (3, 3), stride=(2, 2)).reshape((1, 128))
    compiled = compile_graph(
        load_bytes(graph.fully_connected(10).softmax().output().build(), "tiny"), target_of("cortex-m4")
    )
    found = load_board(board)
    build = build_model(compiled, found, select(None, cpu_spec("cortex-m4")), tmp_path, trace=True)
    with emulated(found, build.firmware.elf) as client:
        assert verify_device(client, compiled, make_samples(compiled.graph, 2)).bit_exact


def read_for_ever(emulator: Emulator) -> None:
    while True:
        emulator.uart.read(5.0)
