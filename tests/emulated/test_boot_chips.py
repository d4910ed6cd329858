"""RP2350 and i.MX RT1060 on our own models: clocks, line, pins, fallbacks, a model's bits.

Their boot ROMs are not modelled; tests/boards/test_boot_blocks.py reads what those read.
"""

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
from tinydeploy.emulate.blocks import rp2040
from tinydeploy.emulate.chip import UnicornEmulator
from tinydeploy.firmware import Firmware
from tinydeploy.frontends.tflite import load_bytes
from tinydeploy.kernels.targets import target_of
from tinydeploy.rpc import Client, CounterUnit, LineClosedError
from tinydeploy.toolchain import cpu_spec, select
from tinydeploy.verify import make_samples

pytestmark = pytest.mark.emulated
Start = Callable[[str, str, Firmware], Emulator]
CLOCKS = {
    "rpi-pico2": ("clocks", {None: 150_000_000, "peri": 150_000_000, "ref": 12_000_000}),
    "teensy-4.1": ("ccm", {None: 528_000_000, "ipg": 132_000_000, "uart": 24_000_000}),
}
everywhere = pytest.mark.parametrize("board", list(CLOCKS))


@everywhere
@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_board_boots_and_restarts_at_its_clock(
    builder: Builder, start: Start, board: str, compiler: str
) -> None:
    clock_hz = load_board(board).clock_hz
    bench = Bench(start(board, "unicorn", builder.bench(board, compiler)))
    assert bench.greeting == [0, 0, clock_hz]
    assert {bench.ask("m") for _ in range(3)} == {"300002"}
    assert bench.everything("r").decode().split() == ["0", "0", str(clock_hz)]
    assert bench.ask("f") == "3"


@everywhere
def test_the_registers_ask_for_the_files_clocks(builder: Builder, board: str) -> None:
    found = load_board(board)
    block, wanted = CLOCKS[board]
    assert found.clock is not None
    assert wanted[None] == found.clock.core_hz
    assert found.clock.bus_hz.items() <= {key: hz for key, hz in wanted.items() if key}.items()
    with UnicornEmulator(found) as emulator:
        emulator.start(builder.bench(board).elf)
        Bench(emulator)
        tree = emulator.machine.bus.models[block]
        assert hasattr(tree, "clock_hz")
        assert {bus: tree.clock_hz(bus) for bus in wanted} == wanted


@pytest.mark.parametrize(
    ("board", "address", "mask", "step"),
    [
        ("rpi-pico2", 0x40048004, 1 << 31, 4),
        ("rpi-pico2", 0x40020008, 1 << 14, 9),
        ("rpi-pico2", 0x40050000, 1 << 31, 13),
        ("teensy-4.1", 0x400D8000, 1 << 31, 6),
    ],
    ids=["XOSC", "reset", "PLL", "ARM PLL"],
)
def test_a_wait_that_times_out_falls_back(
    builder: Builder, board: str, address: int, mask: int, step: int
) -> None:
    found = load_board(board)
    with UnicornEmulator(found, stuck_low={address: mask}) as emulator:
        emulator.start(builder.bench(board).elf)
        assert Bench(emulator).greeting == [1, step, found.chip.reset_hz]
        tree = emulator.machine.bus.models[CLOCKS[board][0]]
        assert hasattr(tree, "clock_hz")
        assert tree.clock_hz(None) == found.chip.reset_hz


def test_rp2350_pins_are_handed_over(builder: Builder) -> None:
    board = load_board("rpi-pico2")
    with UnicornEmulator(board) as emulator:
        emulator.start(builder.bench("rpi-pico2").elf)
        Bench(emulator)
        gpio, pads = (emulator.machine.bus.models[name] for name in ("io_bank0", "pads_bank0"))
        assert isinstance(gpio, rp2040.Gpio)
        assert isinstance(pads, rp2040.Pads2350)
        uart, sio = 2, gpio.SIO
        assert [gpio.function(pin) for pin in range(6)] == [uart, uart, sio, sio, sio, 0x1F]
        assert [pads.is_isolated(pin) for pin in range(6)] == [False] * 5 + [True]


def test_imxrt_pins_are_handed_over(builder: Builder) -> None:
    """IOMUXC of the reference manual: multiplexers, the receiver's choice of a pad, pad settings."""
    with UnicornEmulator(load_board("teensy-4.1")) as emulator:
        emulator.start(builder.bench("teensy-4.1").elf)
        Bench(emulator)
        pads = emulator.machine.bus.models["iomuxc"]
        ad_b0_02, ad_b0_03, rx_select = 0x0C4, 0x0C8, 0x550
        assert (pads.read(ad_b0_02), pads.read(ad_b0_03), pads.read(rx_select)) == (2, 2, 1)
        ad_b1 = [0x104, 0x108, 0x118]  # 02, 03 and 07
        assert [pads.read(mux) for mux in ad_b1] == [5, 5, 5]
        assert {pads.read(mux + 0x1F0) for mux in (ad_b0_02, ad_b0_03, *ad_b1)} == {0xB0B0}


@everywhere
def test_signals_are_high_after_boot(builder: Builder, board: str) -> None:
    found = load_board(board)
    with UnicornEmulator(found) as emulator:
        emulator.start(builder.bench(board).elf)
        Bench(emulator)
        edges = {(edge.port, edge.pin, edge.high) for edge in emulator.machine.edges}
    assert edges == {(signal.port, signal.pin, True) for signal in found.signals}


@everywhere
def test_bytes_interrupt_sleep_and_computation(builder: Builder, start: Start, board: str) -> None:
    bench = Bench(start(board, "unicorn", builder.bench(board)))
    echoed = [chr(33 + index % 60) for index in range(400)]
    bench.send("mf" + "".join(echoed))
    assert int(bench.line()) >= 300_002
    assert bench.line() == "3"
    assert [bench.line() for _ in echoed] == [str(ord(byte)) for byte in echoed]


@everywhere
def test_a_line_at_another_rate_is_told(builder: Builder, board: str) -> None:
    found = load_board(board)
    assert found.uart is not None
    faster = dataclasses.replace(found, uart=Uart(found.uart.block, 230400))
    with UnicornEmulator(faster) as emulator:
        emulator.start(builder.bench(board).elf)
        with pytest.raises(LineClosedError, match=r"sends at 115\d\d\d baud, the board's line has 230400"):
            read_for_ever(emulator)


@everywhere
def test_a_model_is_served(builder: Builder, start: Start, board: str) -> None:
    with Client.connect(start(board, "unicorn", builder.model(board)).uart) as client:
        assert client.device.board == board
        unit = (client.device.counter_unit, client.device.counter_hz)
        assert unit == (CounterUnit.CYCLES, load_board(board).clock_hz)
        data = np.arange(16, dtype=np.int8).reshape(1, 16)
        assert np.array_equal(client.infer([data]).outputs[0], data + 1)


@everywhere
def test_a_models_rows_have_the_references_bits(tmp_path: Path, board: str) -> None:
    found = load_board(board)
    graph = ModelBuilder(seed=5).input((1, 8, 8, 2)).conv2d(8, (3, 3), stride=(2, 2)).reshape((1, 128))
    compiled = compile_graph(
        load_bytes(graph.fully_connected(10).softmax().output().build(), "tiny"), target_of(found.chip.cpu)
    )
    build = build_model(compiled, found, select(None, cpu_spec(found.chip.cpu)), tmp_path, trace=True)
    with emulated(found, build.firmware.elf) as client:
        assert verify_device(client, compiled, make_samples(compiled.graph, 2)).bit_exact


def read_for_ever(emulator: Emulator) -> None:
    while True:
        emulator.uart.read(5.0)
