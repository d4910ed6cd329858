"""STM32 boards under our chip model: clocks, serial line, pins, counters, broken clocks, faults, models."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.emulated.conftest import SOURCES, Bench, Builder
from tinydeploy import demo
from tinydeploy.boards import Action, load_board
from tinydeploy.build import compile_graph
from tinydeploy.device import build_model, emulated, verify_device
from tinydeploy.emulate import Emulator
from tinydeploy.emulate.blocks import Gpio, GpioV1, Rcc, Scs, StUsartV1, StUsartV2
from tinydeploy.emulate.chip import UnicornEmulator
from tinydeploy.firmware import Firmware, build_firmware, find_fault, read_image
from tinydeploy.flash.cpuid import cpuid_part
from tinydeploy.frontends import load
from tinydeploy.kernels.targets import target_of
from tinydeploy.rpc import Client, CounterUnit
from tinydeploy.toolchain import cpu_spec, select
from tinydeploy.verify import make_samples

pytestmark = pytest.mark.emulated
Start = Callable[[str, str, Firmware], Emulator]

BOARDS = (
    "netduino-plus-2",
    "nucleo-f446re",
    "nucleo-g0b1re",
    "nucleo-l4r5zi",
    "stm32f4-discovery",
    "stm32f746g-disco",
    "stm32vldiscovery",
)
CORES = ("nucleo-g0b1re", "stm32vldiscovery", "nucleo-f446re", "stm32f746g-disco")  # M0+, M3, M4, M7
ONE_PER_CHIP = tuple(board for board in BOARDS if board != "stm32f4-discovery")
every_board = pytest.mark.parametrize("board", BOARDS)
each_core = pytest.mark.parametrize("board", CORES)


def waits(board: str) -> list[int]:
    """The clock steps that broken hardware never lets pass."""
    clock = load_board(board).clock
    assert clock is not None
    return [index for index, step in enumerate(clock.steps) if step.action is Action.WAIT and step.value]


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
        rcc, scs, uart = models["rcc"], models["scs"], models[found.uart.block]
        assert isinstance(rcc, Rcc)
        assert rcc.clock_hz(None) == found.clock.core_hz
        assert {bus: rcc.clock_hz(bus) for bus in found.clock.bus_hz} == found.clock.bus_hz
        assert isinstance(uart, StUsartV1 | StUsartV2)
        rate = rcc.clock_hz(uart.block.bus) / uart.divider()
        assert abs(rate - found.uart.baud) < 0.005 * found.uart.baud
        assert scs.read(Scs.CPUID) & 0xFFF0 == cpuid_part(found.chip.cpu)
        for pin in found.pins:
            port = models[pin.port]
            assert isinstance(port, Gpio | GpioV1)
            assert port.function(pin.pin) == pin.alternate
        for signal in found.signals:
            port = models[signal.port]
            assert isinstance(port, Gpio | GpioV1)
            assert port.read(port.ODR) >> signal.pin & 1, "all signals are high after boot"
            assert port.function(signal.pin) is None
        restarted = [str(number) for number in bench.greeting]
        assert bench.everything("r").decode().split() == restarted


@each_core
def test_systick_ticks_at_the_core_clock(start: Start, board: str, tmp_path: Path) -> None:
    found = load_board(board)
    toolchain = select("gcc", cpu_spec(found.chip.cpu))
    firmware = build_firmware(found, toolchain, [], [], tmp_path, "none", app=SOURCES / "systick.c")
    bench = Bench(start(board, "unicorn", firmware))
    counted, ticks = (int(number) for number in bench.line().split())
    assert counted > 30_000
    assert 0 <= counted - ticks < 40, "what lies between the two reads of each"


@pytest.mark.parametrize(
    ("board", "step"), [(board, step) for board in ONE_PER_CHIP for step in waits(board)]
)
def test_a_wait_that_times_out_falls_back(builder: Builder, board: str, step: int) -> None:
    """The board still talks, at the right rate, from its internal oscillator, and says which step failed."""
    found = load_board(board)
    assert found.clock is not None
    broken = found.clock.steps[step]
    with UnicornEmulator(found, stuck_low={broken.address: broken.value}) as emulator:
        emulator.start(builder.bench(board).elf)
        bench = Bench(emulator)
        assert bench.greeting == [1, step, found.chip.reset_hz]
        rcc = emulator.machine.bus.models["rcc"]
        assert isinstance(rcc, Rcc)
        assert rcc.clock_hz(None) == found.chip.reset_hz
        assert bench.ask("f") == "3"


# What each architecture can tell of an undefined instruction and a read of nothing.
CAUSES = {
    "cortex-m0plus": ("HardFault", "HardFault"),
    "cortex-m3": ("undefined instruction", "access to an address where there is nothing"),
    "cortex-m4": ("undefined instruction", "access to an address where there is nothing"),
}


@pytest.mark.parametrize("board", ["nucleo-g0b1re", "stm32vldiscovery", "nucleo-l4r5zi"])
def test_faults_are_reported_from_a_stack_of_their_own(builder: Builder, start: Start, board: str) -> None:
    firmware = builder.bench(board)
    image = read_image(firmware.elf)
    for command, cause in zip("ub", CAUSES[load_board(board).chip.cpu], strict=True):
        fault = find_fault(Bench(start(board, "unicorn", firmware)).everything(command))
        assert fault is not None
        assert fault.causes == (cause,)
        assert not fault.stack_overflow
        assert image.symbol_at(fault.registers["pc"]).split("+")[0] in ("command", "td_app_main")
    overflow = find_fault(Bench(start(board, "unicorn", firmware)).everything("o"))
    assert overflow is not None
    assert overflow.stack_overflow
    assert overflow.describe(image).startswith("the firmware faulted: stack overflow")


@every_board
def test_a_model_is_served(builder: Builder, start: Start, board: str) -> None:
    emulator = start(board, "unicorn", builder.model(board))
    with Client.connect(emulator.uart) as client:
        assert client.device.board == board
        assert client.device.counter_unit is CounterUnit.CYCLES
        assert client.device.counter_hz == load_board(board).clock_hz
        data = np.arange(16, dtype=np.int8).reshape(1, 16)
        answers = [client.infer([data]) for _ in range(2)]
        assert all(np.array_equal(answer.outputs[0], data + 1) for answer in answers)
        assert len({answer.count for answer in answers}) == 1


@each_core
def test_the_demo_model_is_bit_exact(board: str, tmp_path: Path) -> None:
    found = load_board(board)
    compiled = compile_graph(load(demo.model_path()), target_of(found.chip.cpu))
    built = build_model(compiled, found, select("gcc", cpu_spec(found.chip.cpu)), tmp_path, trace=True)
    with emulated(found, built.firmware.elf) as client:
        comparison = verify_device(client, compiled, make_samples(compiled.graph, 2))
    assert comparison.bit_exact, comparison.first_bad_step
