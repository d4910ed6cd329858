"""STM32H7 and U5 under our chip model: clocks, supplies, broken clocks, faults, models. The rest is built."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.emulated.conftest import SOURCES, Bench, Builder
from tinydeploy import demo
from tinydeploy.boards import Action, Board, Tier, load_board
from tinydeploy.build import compile_graph
from tinydeploy.device import build_model, emulated, verify_device
from tinydeploy.emulate import Emulator, Line
from tinydeploy.emulate.blocks import Gpio, Rcc, StUsartV2
from tinydeploy.emulate.blocks.stm32h7 import Axi
from tinydeploy.emulate.chip import UnicornEmulator
from tinydeploy.errors import TinyDeployError
from tinydeploy.firmware import Firmware, build_firmware, find_fault, read_image
from tinydeploy.frontends import load
from tinydeploy.kernels.targets import target_of
from tinydeploy.rpc import Client, CounterUnit, LineClosedError
from tinydeploy.toolchain import cpu_spec, select
from tinydeploy.verify import make_samples

pytestmark = pytest.mark.emulated
Start = Callable[[str, str, Firmware], Emulator]

RUN = ("nucleo-h743zi", "nucleo-h7a3zi-q", "nucleo-u575zi-q")
BUILT = ("nucleo-n657x0-q", "ek-ra8d1")
every_board = pytest.mark.parametrize("board", RUN)
COMPILERS = ("gcc", "zig")
QUIET_S = 3.0


def waits(board: str) -> list[int]:
    """The clock steps that broken hardware never lets pass."""
    clock = load_board(board).clock
    assert clock is not None
    return [index for index, step in enumerate(clock.steps) if step.action is Action.WAIT and step.value]


def test_tiers_are_what_is_proved() -> None:
    """The boards that nothing here runs say so in their chips' files."""
    assert {load_board(board).tier for board in RUN} == {Tier.RUNS}
    for board in BUILT:
        found = load_board(board)
        assert found.tier is Tier.BUILDS
        assert "# Untested on hardware." in found.chip.path.read_text()


@every_board
def test_clocks_line_pins_and_counter_are_as_the_files_say(builder: Builder, board: str) -> None:
    found = load_board(board)
    assert found.clock is not None
    assert found.uart is not None
    with UnicornEmulator(found) as emulator:
        emulator.start(builder.bench(board).elf)
        bench = Bench(emulator)
        assert bench.greeting == [0, 0, found.clock.core_hz]
        assert {bench.ask("m") for _ in range(3)} == {"300002"}, "cycles of the core, each time"
        models = emulator.machine.bus.models
        rcc, uart = models["rcc"], models[found.uart.block]
        assert isinstance(rcc, Rcc)
        assert rcc.clock_hz(None) == found.clock.core_hz
        assert {bus: rcc.clock_hz(bus) for bus in found.clock.bus_hz} == found.clock.bus_hz
        assert isinstance(uart, StUsartV2)
        rate = rcc.clock_hz(uart.block.bus) / uart.divider()
        assert abs(rate - found.uart.baud) < 0.005 * found.uart.baud
        for pin in found.pins:
            port = models[pin.port]
            assert isinstance(port, Gpio)
            assert port.function(pin.pin) == pin.alternate
        for signal in found.signals:
            port = models[signal.port]
            assert isinstance(port, Gpio)
            assert port.read(port.ODR) >> signal.pin & 1, "all signals are high after boot"
        restarted = [str(number) for number in bench.greeting]
        assert bench.everything("r").decode().split() == restarted


@pytest.mark.parametrize(("board", "step"), [(board, step) for board in RUN for step in waits(board)])
def test_a_wait_that_times_out_falls_back(builder: Builder, board: str, step: int) -> None:
    """The board still talks, at the right rate, from its internal oscillator, and says which step failed."""
    found = load_board(board)
    assert found.clock is not None
    broken = found.clock.steps[step]
    with UnicornEmulator(found, stuck_low={broken.address: broken.value}) as emulator:
        emulator.start(builder.bench(board).elf)
        bench = Bench(emulator)
        assert bench.greeting == [1, step, found.chip.reset_hz]
        assert bench.ask("f") == "3"


def without(what: str) -> Callable[[str], str]:
    """The chip's file without the steps of that name, and without the waits for what they bring."""

    def changed(text: str) -> str:
        lines = text.splitlines()
        assert any(f'what = "{what}' in line for line in lines)
        return "\n".join(line for line in lines if f'what = "{what}' not in line)

    return changed


def with_value(*changes: tuple[str, str]) -> Callable[[str], str]:
    """The chip's file with some texts replaced by others."""

    def changed(text: str) -> str:
        for before, after in changes:
            assert before in text
            text = text.replace(before, after)
        return text

    return changed


def with_wait_states(known: int, fewer: int) -> Callable[[str], str]:
    """Both the step and the wait for it."""
    in_use = 'what = "wait states in use"'
    return with_value(
        (f"value = 0x000000{known:02X}", f"value = 0x000000{fewer:02X}"),
        (f"value = 0x0000000{known & 15}, {in_use}", f"value = 0x0000000{fewer & 15}, {in_use}"),
    )


@pytest.mark.parametrize(
    ("board", "change", "message"),
    [
        (
            "nucleo-h743zi",
            without("supply"),
            "pwr: the voltage is changed before its supply is chosen",
        ),
        ("nucleo-h743zi", without("voltage"), "at 400000000 Hz at voltage scale 3"),
        (
            "nucleo-h743zi",
            with_wait_states(0x22, 0x21),
            "flash has 1 wait states, 200000000 Hz needs 2",
        ),
        (
            "nucleo-h743zi",
            with_value(("0x00000048", "0x00000040")),
            "ahb runs at 400000000 Hz, at most 200000000 are allowed",
        ),
        (
            "nucleo-h743zi",
            with_value(("0x01010263", "0x01010277")),
            "the PLL's oscillator runs at 960000000 Hz",
        ),
        ("nucleo-h743zi", with_value(("0x0001000C", "0x00010004")), "its range is 2 to 4 MHz"),
        ("nucleo-h7a3zi-q", with_wait_states(0x36, 0x35), "280000000 Hz needs 6"),
        (
            "nucleo-h7a3zi-q",
            with_value(("0x00000004, what", "0x00000000, what")),
            "no supply is chosen by 0x00",
        ),
        ("nucleo-u575zi-q", without("booster"), "at 160000000 Hz in voltage range 1 without booster"),
        ("nucleo-u575zi-q", without("voltage"), "flash has 4 wait states, 160000000 Hz needs 12"),
        ("nucleo-u575zi-q", without("clock of PWR"), "pwr is written without its clock"),
        (
            "nucleo-u575zi-q",
            with_value(("apb2 = 160_000_000", "apb2 = 80_000_000")),
            "usart1 sends at 230548 baud, the board's line has 115200",
        ),
    ],
)
def test_what_hardware_would_not_survive_ends_the_emulation(
    tmp_path: Path, board: str, change: Callable[[str], str], message: str
) -> None:
    found = changed_board(tmp_path, board, change)
    toolchain = select("gcc", cpu_spec(found.chip.cpu))
    firmware = build_firmware(found, toolchain, [], [], tmp_path / "out", "none", app=SOURCES / "bench.c")
    with UnicornEmulator(found) as emulator:
        emulator.start(firmware.elf)
        with pytest.raises(LineClosedError, match=message):
            read_until_it_closes(emulator.uart)


def read_until_it_closes(line: Line) -> None:
    """A board whose emulation does not end greets once and is silent then."""
    while line.read(QUIET_S):
        pass


def changed_board(folder: Path, name: str, change: Callable[[str], str]) -> Board:
    """The board with its chip's file changed."""
    package = load_board(name)
    (folder / package.chip.path.name).write_text(change(package.chip.path.read_text()))
    path = folder / package.path.name
    path.write_text(package.path.read_text())
    return load_board(path)


@every_board
def test_faults_are_reported_from_a_stack_of_their_own(builder: Builder, start: Start, board: str) -> None:
    firmware = builder.bench(board)
    image = read_image(firmware.elf)
    fault = find_fault(Bench(start(board, "unicorn", firmware)).everything("b"))
    assert fault is not None
    assert not fault.stack_overflow
    assert image.symbol_at(fault.registers["pc"]).split("+")[0] in ("command", "td_app_main")
    overflow = find_fault(Bench(start(board, "unicorn", firmware)).everything("o"))
    assert overflow is not None
    assert overflow.stack_overflow


@every_board
@pytest.mark.parametrize("compiler", COMPILERS)
def test_a_model_is_served(builder: Builder, start: Start, board: str, compiler: str) -> None:
    emulator = start(board, "unicorn", builder.model(board, compiler))
    with Client.connect(emulator.uart) as client:
        assert client.device.board == board
        assert client.device.counter_unit is CounterUnit.CYCLES
        assert client.device.counter_hz == load_board(board).clock_hz
        data = np.arange(16, dtype=np.int8).reshape(1, 16)
        answers = [client.infer([data]) for _ in range(2)]
        assert all(np.array_equal(answer.outputs[0], data + 1) for answer in answers)
        assert len({answer.count for answer in answers}) == 1


@pytest.mark.full  # tests/boards/test_coverage.py runs larger ones
@every_board
def test_the_demo_model_is_bit_exact(board: str, tmp_path: Path) -> None:
    found = load_board(board)
    compiled = compile_graph(load(demo.model_path()), target_of(found.chip.cpu))
    built = build_model(compiled, found, select("gcc", cpu_spec(found.chip.cpu)), tmp_path, trace=True)
    with emulated(found, built.firmware.elf) as client:
        comparison = verify_device(client, compiled, make_samples(compiled.graph, 2))
    assert comparison.bit_exact, comparison.first_bad_step


def test_registers_are_accessed_as_wide_as_they_are(tmp_path: Path) -> None:
    steps = """step = [
    { block = "axi", offset = 0x101, mask = 0xF0, value = 0x70, bytes = 1, what = "a byte" },
    { block = "axi", offset = 0x206, value = 0xA501, bytes = 2, what = "half a word" },
    { do = "wait", block = "axi", offset = 0x101, mask = 0x0F, value = 0x00, bytes = 1, what = "a byte" },"""
    found = changed_board(tmp_path, "nucleo-h743zi", with_value(("step = [", steps)))
    toolchain = select("gcc", cpu_spec(found.chip.cpu))
    firmware = build_firmware(found, toolchain, [], [], tmp_path / "out", "none", app=SOURCES / "bench.c")
    with UnicornEmulator(found) as emulator:
        emulator.start(firmware.elf)
        assert Bench(emulator).greeting == [0, 0, 400_000_000]
        model = emulator.machine.bus.models["axi"]
        assert isinstance(model, Axi)
        assert {at: model.registers.get(at) for at in (0x101, 0x206)} == {0x101: 0x70, 0x206: 0xA501}
        assert not {0x100, 0x204} & model.registers.keys(), "nothing beside them was written"


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("bytes = 2", "bytes = 3", "step[0].bytes: got 3, allowed: 1, 2, 4"),
        ("mask = 0x4E", "mask = 0x14E", "step[1].mask: got 334, 0 to 255 are allowed"),
        (
            "offset = 0x3FA, mask = 0xFFFF, value = 0xA501",
            "offset = 0x3FB, mask = 0xFFFF, value = 0xA501",
            "step[0].offset: 0x4001e3fb is no multiple of the register's 2 bytes",
        ),
    ],
)
def test_a_width_that_cannot_be_is_told(tmp_path: Path, before: str, after: str, message: str) -> None:
    with pytest.raises(TinyDeployError) as caught:
        changed_board(tmp_path, "ek-ra8d1", with_value((before, after)))
    assert str(caught.value).endswith(f"r7fa8d1bh.toml: clock[0].{message}")
