"""Models of STM32 blocks by their registers, without a core: clocks and limits, lines, timers, ports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from tinydeploy.boards import Action, Block, Board, RegisterStep, load_board
from tinydeploy.emulate.blocks import GpioV1, Rcc, StLpuart, StTimer32, StUsartV1, Wires
from tinydeploy.emulate.chip.bus import Bus


@dataclass
class Registers:
    """A chip's models without a core, and the clock steps of a board done by hand."""

    board: Board
    failure: str = ""
    bus: Bus = field(init=False)

    def __post_init__(self) -> None:
        self.bus = Bus(self.board.chip, lambda _name: self._wires(), {})

    def apply(self, steps: tuple[RegisterStep, ...]) -> str:
        """What hardware says to them, nothing where all is well."""
        for step in steps:
            if step.action is Action.WRITE:
                old = self.bus.read(step.address, 4)
                self.bus.write(step.address, 4, old & ~step.mask | step.value)
            else:
                assert self.bus.read(step.address, 4) & step.mask == step.value or self.failure, step.comment
        return self.failure

    def _wires(self) -> Wires:
        assert self.board.clock is not None
        return Wires(
            cycles=lambda: 0,
            interrupt=lambda _level: None,
            attention=lambda: None,
            transmit=lambda _data: None,
            clock_hz=lambda bus: self.bus.models["rcc"].clock_hz(bus),  # type: ignore[attr-defined]
            find=lambda kind: next((m for m in self.bus.models.values() if isinstance(m, kind)), None),
            fail=self._fail,
            external_hz=self.board.clock.external_hz,
        )

    def _fail(self, message: str) -> None:
        self.failure = self.failure or message


def changed(board: Board, changes: Mapping[str, int | None]) -> tuple[RegisterStep, ...]:
    """The board's clock steps, those with these words with another value, or left out for None."""
    assert board.clock is not None
    assert changes.keys() <= {step.comment for step in board.clock.steps}
    values = {step: changes.get(step.comment, step.value) for step in board.clock.steps}
    return tuple(replace(step, value=value) for step, value in values.items() if value is not None)


OVERDRIVE = ("overdrive on", "overdrive ready", "overdrive switched in", "overdrive in use")
PLL_8_168 = "PLL 8 MHz / 4 x 168 / 2"
PUNISHED: dict[str, tuple[str, dict[str, int | None], str]] = {
    "F4 wait states": (
        "stm32f4-discovery",
        {"5 wait states, caches, prefetch": 0x704, "wait states in use": 4},
        "flash has 4 wait states, 168000000 Hz needs 5",
    ),
    "F40x scale": (
        "stm32f4-discovery",
        {"regulator scale 1": 0},
        "the core runs at 168000000 Hz at regulator scale 2",
    ),
    "F4 oscillator": (
        "stm32f4-discovery",
        {PLL_8_168: 4 | 250 << 6 | 1 << 22 | 7 << 24},
        "the PLL's oscillator runs at 500000000 Hz, 100000000 to 432000000 are allowed",
    ),
    "F4 PLL input": (
        "netduino-plus-2",
        {"PLL 25 MHz / 25 x 336 / 2": 8 | 100 << 6 | 1 << 22 | 7 << 24},
        "the PLL's input runs at 3125000 Hz, 950000 to 2100000 are allowed",
    ),
    "F4 bus": (
        "stm32f4-discovery",
        {"AHB / 1, APB1 / 4, APB2 / 2": 0x9000},
        "apb1 runs at 84000000 Hz, at most 42000000 are allowed",
    ),
    "F446 overdrive": (
        "nucleo-f446re",
        dict.fromkeys(OVERDRIVE),
        "the core runs at 180000000 Hz without overdrive",
    ),
    "F446 scale": (
        "nucleo-f446re",
        {"regulator scale 1": 0x8000},
        "the core runs at 180000000 Hz at regulator scale 2 with overdrive",
    ),
    "F7 overdrive": (
        "stm32f746g-disco",
        dict.fromkeys(OVERDRIVE),
        "the core runs at 216000000 Hz without overdrive",
    ),
    "L4 boost": ("nucleo-l4r5zi", {"boost": None}, "the core runs at 120000000 Hz without boost"),
    "L4 range": (
        "nucleo-l4r5zi",
        {"voltage range 1": 0x400},
        "flash has 5 wait states, 60000000 Hz needs 7",
    ),
    "L4 wait states": (
        "nucleo-l4r5zi",
        {"5 wait states, caches, prefetch": 0x704, "wait states in use": 4},
        "flash has 4 wait states, 120000000 Hz needs 5",
    ),
    "L4 one step": (
        "nucleo-l4r5zi",
        {"AHB / 2, APB1 / 1, APB2 / 1": 0},
        "the core's clock rises to 120000000 Hz in one step, not by way of half of it",
    ),
    "L4 no source": (
        "nucleo-l4r5zi",
        {"PLL 16 MHz / 2 x 30 / 2": 0x01001E10},
        "rcc: the PLL is on without a source",
    ),
    "G0 wait states": (
        "nucleo-g0b1re",
        {"2 wait states, cache, prefetch": 0x301, "wait states in use": 1},
        "flash has 1 wait states, 64000000 Hz needs 2",
    ),
    "G0 range": (
        "nucleo-g0b1re",
        {"voltage range 1": 0x400},
        "flash has 0 wait states, 16000000 Hz needs 1",
    ),
    "F100 speed": (
        "stm32vldiscovery",
        {"PLL HSE x 3, no dividers": 0x00090000},
        "the PLL's oscillator runs at 32000000 Hz, 16000000 to 24000000 are allowed",
    ),
}


@pytest.mark.parametrize("board", sorted({board for board, _, _ in PUNISHED.values()}))
def test_the_clock_steps_are_right_and_can_be_given_up(board: str) -> None:
    found = load_board(board)
    assert found.clock is not None
    registers = Registers(found)
    assert registers.apply(found.clock.steps) == ""
    assert registers.apply(found.clock.fallback) == ""
    rcc = registers.bus.models["rcc"]
    assert isinstance(rcc, Rcc)
    assert {rcc.clock_hz(bus) for bus in (None, *found.clock.bus_hz)} == {found.chip.reset_hz}


@pytest.mark.parametrize("case", PUNISHED)
def test_what_hardware_would_not_survive_ends_the_emulation(case: str) -> None:
    board, changes, message = PUNISHED[case]
    found = load_board(board)
    assert Registers(found).apply(changed(found, changes)) == message


@pytest.mark.parametrize("board", ["netduino-plus-2", "nucleo-l4r5zi", "nucleo-g0b1re", "stm32vldiscovery"])
def test_a_pll_is_not_changed_while_it_runs(board: str) -> None:
    found = load_board(board)
    registers = Registers(found)
    assert found.clock is not None
    assert registers.apply(found.clock.steps) == ""
    (pll,) = [step for step in found.clock.steps if step.comment.startswith("PLL ") and " x " in step.comment]
    registers.bus.write(pll.address, 4, registers.bus.read(pll.address, 4) ^ 1 << 18 ^ 1 << 8)
    assert registers.failure == "rcc: the PLL is changed while it runs"


def test_voltage_and_wait_states_are_not_lowered_under_a_fast_core() -> None:
    found = load_board("nucleo-f446re")
    assert found.clock is not None
    registers = Registers(found)
    assert registers.apply(found.clock.steps) == ""
    registers.bus.write(found.chip.block("flash").base, 4, 0)
    assert registers.failure == "flash has 0 wait states, 180000000 Hz needs 5"
    registers = Registers(found)
    registers.apply(found.clock.steps)
    registers.bus.write(found.chip.block("pwr").base, 4, 0xC000)
    assert registers.failure == "the core runs at 180000000 Hz without overdrive"


def test_a_crystal_that_is_not_there_never_gets_ready() -> None:
    found = load_board("netduino-plus-2")
    assert found.clock is not None
    registers = Registers(replace(found, clock=replace(found.clock, external_hz=0)))
    rcc = registers.bus.models["rcc"]
    rcc.write(0, 4, 0x1_0083)
    assert rcc.read(0) & 0x2_0000 == 0


def test_a_core_does_not_switch_to_a_clock_that_is_off() -> None:
    registers = Registers(load_board("netduino-plus-2"))
    rcc = registers.bus.models["rcc"]
    rcc.write(8, 4, 2)
    assert rcc.read(8) & 0xC == 0
    rcc.write(0, 4, 0x0101_0083)
    assert rcc.read(8) & 0xC == 8


def test_port_g_of_the_l4_needs_its_supply_declared_valid() -> None:
    """PG7 and PG8, the serial line of the board, hang on VDDIO2."""
    found = load_board("nucleo-l4r5zi")
    port = found.chip.block("gpiog")
    for enable, failure in ((port.enable, ""), (port.enable[:-1], "pin 7 of gpiog has no supply")):
        registers = Registers(found)
        registers.apply(enable)
        registers.bus.write(port.base, 4, 0b10 << 14)
        assert registers.failure == failure


@dataclass
class Line:
    """Wires of one block that end in variables."""

    now: int = 0
    level: bool = False
    hz: int = 64_000_000
    failure: str = ""
    sent: bytearray = field(default_factory=bytearray)

    def wires(self, baud: int = 0) -> Wires:
        return Wires(
            cycles=lambda: self.now,
            interrupt=lambda level: setattr(self, "level", level),
            attention=lambda: None,
            transmit=self.sent.extend,
            clock_hz=lambda bus: self.hz if bus is None else 64_000_000,
            find=lambda kind: None,
            fail=lambda message: setattr(self, "failure", message),
            baud=baud,
        )


BLOCK = Block("block", "type", 0, bus="apb1")


def test_the_usart_with_one_data_register() -> None:
    line = Line()
    usart = StUsartV1(BLOCK, line.wires(baud=115_200))
    usart.write(StUsartV1.BRR, 4, 556)
    usart.write(StUsartV1.CR1, 4, 0x202C)
    usart.receive(b"ab")
    assert line.level
    assert usart.read(StUsartV1.SR) == 0xE0
    assert usart.read(StUsartV1.DR) == ord("a")
    assert usart.read(StUsartV1.DR) == ord("b")
    assert not line.level
    assert usart.read(StUsartV1.SR) == 0xC0
    usart.write(StUsartV1.DR, 1, ord("c"))
    assert line.sent == b"c"
    usart.write(StUsartV1.BRR, 4, 500)
    usart.write(StUsartV1.DR, 1, ord("d"))
    assert line.failure == "block sends at 128000 baud, the board's line has 115200"


def test_the_lpuart_divides_by_256ths() -> None:
    line = Line()
    lpuart = StLpuart(BLOCK, line.wires(baud=115_200))
    lpuart.write(StLpuart.CR1, 4, 0x0D)
    lpuart.write(StLpuart.BRR, 4, 64_000_000 * 256 // 115_200)
    lpuart.write(StLpuart.TDR, 1, ord("c"))
    assert (bytes(line.sent), line.failure) == (b"c", "")
    lpuart.write(StLpuart.BRR, 4, 64_000_000 // 115_200)
    lpuart.divider()
    assert line.failure == "block divides by 0x22b / 256, 0x300 is the least"


def test_the_timer_counts_its_bus_clock() -> None:
    line = Line(now=1000)
    timer = StTimer32(BLOCK, line.wires())
    timer.write(StTimer32.PSC, 4, 1)
    timer.write(StTimer32.CR1, 4, 1)
    line.now = 1010
    assert timer.read(StTimer32.CNT) == 10, "the prescaler waits for an update"
    timer.write(StTimer32.EGR, 4, 1)
    line.now = 1020
    assert timer.read(StTimer32.CNT) == 5
    timer.write(StTimer32.CNT, 4, 0xFFFF_FFFF)
    line.now = 1022
    assert timer.read(StTimer32.CNT) == 0, "it wraps"
    line.hz = 4 * 64_000_000
    timer.write(StTimer32.EGR, 4, 1)
    line.now = 1062
    assert timer.read(StTimer32.CNT) == 10, "twice the clock of a bus that is divided"


def test_ports_with_two_control_registers() -> None:
    edges = []
    wires = replace(Line().wires(), edge=lambda pin, high: edges.append((pin, high)))
    port = GpioV1(BLOCK, wires)
    assert port.read(GpioV1.CRH) == 0x4444_4444
    port.write(GpioV1.BSRR, 4, 1 << 9)
    port.write(GpioV1.CRH, 4, 0x4444_41B4)
    port.write(GpioV1.BSRR, 4, 1 << 25)
    assert edges == [(9, True), (9, False)]
    assert (port.function(9), port.function(10), port.function(11)) == (0xB, None, 4)
