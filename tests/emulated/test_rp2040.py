"""The RP2040 in rp2040js and on our own model: boot block, clocks, cycles, faults, a model's bits."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.emulated.conftest import COMPILERS, SOURCES, Bench, Builder
from tests.tflite_builder import ModelBuilder
from tinydeploy.boards import Board, Uart, load_board
from tinydeploy.build import compile_graph
from tinydeploy.device import build_model, emulated, verify_device
from tinydeploy.emulate import Emulator, available_emulators, open_emulator
from tinydeploy.emulate.chip import UnicornEmulator
from tinydeploy.emulate.rp2040 import Rp2040Emulator, find_rp2040js, install_rp2040js
from tinydeploy.errors import DeviceError, ToolError
from tinydeploy.firmware import Firmware, build_firmware
from tinydeploy.frontends.tflite import load_bytes
from tinydeploy.kernels.targets import target_of
from tinydeploy.rpc import Client, CounterUnit, LineClosedError
from tinydeploy.toolchain import cpu_spec, select
from tinydeploy.verify import make_samples

pytestmark = pytest.mark.emulated
Start = Callable[[str, str, Firmware], Emulator]
BOARD = "rpi-pico"
KINDS = ("rp2040js", "unicorn")
CLOCK_HZ = 125_000_000
XOSC_STATUS, RESET_DONE, PLL_CS = 0x40024004, 0x4000C008, 0x40028000
REF_SELECTED, SYS_SELECTED = 0x40008038, 0x40008044

everywhere = pytest.mark.parametrize("kind", KINDS)
in_rp2040js = pytest.mark.skipif(find_rp2040js() is None, reason=f"rp2040js is missing: {install_rp2040js()}")


@everywhere
@pytest.mark.parametrize("compiler", COMPILERS)
def test_the_board_boots_and_restarts_at_its_clock(
    builder: Builder, start: Start, kind: str, compiler: str
) -> None:
    bench = Bench(start(BOARD, kind, builder.bench(BOARD, compiler)))
    assert bench.greeting == [0, 0, CLOCK_HZ]
    assert bench.ask("f") == "3"
    assert bench.everything("r").decode().split() == ["0", "0", str(CLOCK_HZ)]
    assert bench.ask("f") == "3"


def test_the_registers_ask_for_the_files_clock(builder: Builder, start: Start) -> None:
    """Both models work out the rates from what the firmware wrote, each in its own way."""
    board = load_board(BOARD)
    assert board.clock is not None
    assert board.uart is not None
    theirs = start(BOARD, "rp2040js", builder.bench(BOARD))
    Bench(theirs)
    assert isinstance(theirs, Rp2040Emulator)
    figures = theirs.figures()
    assert figures.core_hz == board.clock.core_hz == CLOCK_HZ
    assert abs(figures.baud - board.uart.baud) < 0.001 * board.uart.baud
    ours = start(BOARD, "unicorn", builder.bench(BOARD))
    Bench(ours)
    assert isinstance(ours, UnicornEmulator)
    clocks = ours.machine.bus.models["clocks"]
    assert hasattr(clocks, "clock_hz")
    assert [clocks.clock_hz(bus) for bus in (None, "peri", "ref")] == [CLOCK_HZ, CLOCK_HZ, 12_000_000]


@pytest.mark.parametrize(
    ("address", "mask", "step"),
    [
        (SYS_SELECTED, 1, 1),
        (XOSC_STATUS, 1 << 31, 4),
        (REF_SELECTED, 4, 6),
        (RESET_DONE, 1 << 12, 9),
        (PLL_CS, 1 << 31, 13),
        (SYS_SELECTED, 2, 19),
    ],
    ids=["clk_ref", "XOSC", "XOSC switch", "reset", "PLL", "PLL switch"],
)
def test_a_wait_that_times_out_falls_back(builder: Builder, address: int, mask: int, step: int) -> None:
    """The board still talks, from its ring oscillator, and its counter still counts cycles."""
    board = load_board(BOARD)
    with UnicornEmulator(board, stuck_low={address: mask}) as emulator:
        emulator.start(builder.bench(BOARD).elf)
        bench = Bench(emulator)
        assert bench.greeting == [1, step, board.chip.reset_hz]
        assert bench.ask("m") == "300002"


def test_cycles_are_exact_over_many_rounds_of_systick(builder: Builder, start: Start, tmp_path: Path) -> None:
    """SysTick goes round after 2^24 cycles; measurements of a fiftieth of that cross its end."""
    bench = Bench(start(BOARD, "unicorn", builder.bench(BOARD)))
    assert {bench.ask("m") for _ in range(70)} == {"300002"}
    board = load_board(BOARD)
    toolchain = select(None, cpu_spec(board.chip.cpu))
    app = SOURCES / "long_spin.c"
    firmware = build_firmware(board, toolchain, [], [], tmp_path, "none", app=app)
    with UnicornEmulator(board) as emulator:
        emulator.start(firmware.elf)
        for _ in range(3):
            emulator.uart.write(b"x")
            answer = b""
            while not answer.endswith(b"\n"):
                answer += emulator.uart.read(20.0)
            assert abs(int(answer) - 60_000_000) <= 8


def test_cycles_in_rp2040js_are_those_of_its_core(builder: Builder, start: Start) -> None:
    """Four for a round of the loop: a branch that is taken takes two."""
    emulator = start(BOARD, "rp2040js", builder.bench(BOARD))
    bench = Bench(emulator)
    measured = {int(bench.ask("m")) for _ in range(3)}
    assert len(measured) == 1
    assert abs(measured.pop() - 400_000) < 20


def test_instructions_are_counted(builder: Builder, start: Start) -> None:
    """The same image needs as many instructions in both, boot block and waits aside."""
    counts: list[int] = []
    for kind in KINDS:
        emulator = start(BOARD, kind, builder.bench(BOARD))
        bench = Bench(emulator)
        bench.ask("f")
        before = emulator.instructions()
        bench.ask("m")
        after = emulator.instructions()
        assert before is not None
        assert after is not None
        counts.append(after - before)
    assert counts[0] > 300_000
    assert abs(counts[0] - counts[1]) < 200


def test_bytes_interrupt_sleep_and_computation(builder: Builder, start: Start) -> None:
    bench = Bench(start(BOARD, "rp2040js", builder.bench(BOARD)))
    echoed = [chr(33 + index % 60) for index in range(400)]
    bench.send("mf" + "".join(echoed))
    assert int(bench.line()) >= 400_000
    assert bench.line() == "3"
    assert [bench.line() for _ in echoed] == [str(ord(byte)) for byte in echoed]


@everywhere
def test_a_model_is_served(builder: Builder, start: Start, kind: str) -> None:
    with Client.connect(start(BOARD, kind, builder.model(BOARD)).uart) as client:
        assert client.device.board == BOARD
        assert (client.device.counter_unit, client.device.counter_hz) == (CounterUnit.CYCLES, CLOCK_HZ)
        data = np.arange(16, dtype=np.int8).reshape(1, 16)
        answers = [client.infer([data]) for _ in range(3)]
        assert all(np.array_equal(answer.outputs[0], data + 1) for answer in answers)
        assert len({answer.count for answer in answers}) == 1


@everywhere
def test_a_models_rows_have_the_references_bits(tmp_path: Path, kind: str) -> None:
    graph = ModelBuilder(seed=5).input((1, 8, 8, 2)).conv2d(8, (3, 3), stride=(2, 2)).reshape((1, 128))
    compiled = compile_graph(
        load_bytes(graph.fully_connected(10).softmax().output().build(), "tiny"), target_of("cortex-m0plus")
    )
    if kind not in available_emulators(load_board(BOARD)):
        pytest.skip(f"the emulator {kind} is not installed")
    board = dataclasses.replace(
        load_board(BOARD), emulators=tuple(e for e in load_board(BOARD).emulators if e.kind == kind)
    )
    build = build_model(compiled, board, select(None, cpu_spec("cortex-m0plus")), tmp_path, trace=True)
    with emulated(board, build.firmware.elf) as client:
        samples = make_samples(compiled.graph, 2)
        assert verify_device(client, compiled, samples).bit_exact


@in_rp2040js
def test_a_damaged_boot_block_is_not_started(builder: Builder, tmp_path: Path) -> None:
    """What the boot ROM would refuse, the emulator refuses."""
    elf = builder.bench(BOARD).elf
    data = elf.read_bytes()
    vectors = data.index(bytes.fromhex("08ed00e0"))  # a word of the boot block: the address of VTOR
    damaged = tmp_path / "damaged.elf"
    damaged.write_bytes(data[:vectors] + b"\x09" + data[vectors + 1 :])
    message = "the boot block ends with 0xca823491, its CRC is 0x"
    with open_emulator(load_board(BOARD), "rp2040js") as emulator:
        emulator.start(damaged)
        with pytest.raises(LineClosedError, match=message):
            read_for_ever(emulator)


@in_rp2040js
@pytest.mark.parametrize(
    ("command", "message"),
    [("b", "e8000000"), ("u", "an undefined instruction or a breakpoint, 0, at 0x1000")],
)
def test_what_would_fault_ends_rp2040js(builder: Builder, command: str, message: str) -> None:
    with open_emulator(load_board(BOARD), "rp2040js") as emulator:
        emulator.start(builder.bench(BOARD).elf)
        bench = Bench(emulator)
        bench.send(command)
        with pytest.raises(LineClosedError, match=message):
            read_for_ever(emulator)
        with pytest.raises(DeviceError, match=message):
            emulator.instructions()


@in_rp2040js
def test_a_line_at_another_rate_is_told(builder: Builder) -> None:
    board = load_board(BOARD)
    faster = dataclasses.replace(board, uart=Uart("uart0", 230400))
    with Rp2040Emulator(faster) as emulator:
        emulator.start(builder.bench(BOARD).elf)
        with pytest.raises(
            LineClosedError, match=r"uart0 sends at 1152\d\d baud, the board's line has 230400"
        ):
            read_for_ever(emulator)


@in_rp2040js
def test_a_pin_that_was_not_handed_over_is_told(builder: Builder) -> None:
    board = load_board(BOARD)
    moved = dataclasses.replace(board, pins=(dataclasses.replace(board.pins[0], pin=16), board.pins[1]))
    with Rp2040Emulator(moved) as emulator:
        emulator.start(builder.bench(BOARD).elf)
        with pytest.raises(LineClosedError, match="pin 16 has function 31 instead of 2"):
            read_for_ever(emulator)


def test_signals_are_seen(builder: Builder, start: Start) -> None:
    board = load_board(BOARD)
    pins = {signal.pin for signal in board.signals}
    theirs = start(BOARD, "rp2040js", builder.bench(BOARD))
    Bench(theirs)
    assert isinstance(theirs, Rp2040Emulator)
    assert {(pin, high) for _, pin, high in theirs.figures().edges} == {(pin, True) for pin in pins}
    ours = start(BOARD, "unicorn", builder.bench(BOARD))
    Bench(ours)
    assert isinstance(ours, UnicornEmulator)
    edges = {(edge.port, edge.pin, edge.high) for edge in ours.machine.edges}
    assert edges == {("io_bank0", pin, True) for pin in pins}


@in_rp2040js
def test_an_image_of_another_chip_is_refused(builder: Builder) -> None:
    emulator = Rp2040Emulator(load_board(BOARD))
    with pytest.raises(DeviceError, match="where an RP2040 has no flash") as raised:
        emulator.start(builder.bench("qemu-m3").elf)
    assert raised.value.fix == "Build it for this board"
    emulator.stop()


@in_rp2040js
def test_a_board_that_is_no_rp2040_is_refused() -> None:
    board: Board = load_board("nucleo-f746")
    with pytest.raises(
        ToolError, match="rp2040js is an RP2040, whose UARTs are at 0x40034000 and 0x40038000"
    ):
        Rp2040Emulator(board)


class TestWithout:
    """Where rp2040js is not installed."""

    def test_our_model_takes_over(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("TINYDEPLOY_RP2040JS", str(tmp_path))
        assert find_rp2040js() is None
        assert open_emulator(load_board(BOARD)).kind == "unicorn"

    def test_the_message_has_the_command(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("TINYDEPLOY_RP2040JS", str(tmp_path))
        with pytest.raises(ToolError, match="rp2040js is not installed") as raised:
            Rp2040Emulator(load_board(BOARD))
        assert f"npm install --prefix {tmp_path} rp2040js@" in raised.value.fix
        with pytest.raises(ToolError, match="no emulator is installed") as raised:
            open_emulator(load_board(BOARD), "rp2040js")
        assert "npm install" in raised.value.fix

    def test_node_is_told_too(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(ToolError, match="rp2040js is not installed") as raised:
            Rp2040Emulator(load_board(BOARD))
        assert "apt-get install nodejs npm && npm install" in raised.value.fix

    @in_rp2040js
    def test_a_module_that_does_not_load(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, builder: Builder
    ) -> None:
        module = tmp_path / "dist" / "esm" / "index.js"
        module.parent.mkdir(parents=True)
        module.write_text("throw new Error('broken');\n")
        monkeypatch.setenv("TINYDEPLOY_RP2040JS", str(tmp_path))
        with pytest.raises(ToolError, match=r"rp2040js did not start: .*Error: broken"):
            Rp2040Emulator(load_board(BOARD)).start(builder.bench(BOARD).elf)


def read_for_ever(emulator: Emulator) -> None:
    while True:
        emulator.uart.read(5.0)
