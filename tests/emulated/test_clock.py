"""The clock tree: what the registers make of it, what happens where a part of it is broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.emulated.conftest import SOURCES, Bench, Builder
from tinydeploy.boards import Board, load_board
from tinydeploy.emulate import Line
from tinydeploy.emulate.blocks import Rcc
from tinydeploy.emulate.chip import UnicornEmulator
from tinydeploy.firmware import build_firmware
from tinydeploy.rpc import LineClosedError
from tinydeploy.toolchain import cpu_spec, select

pytestmark = pytest.mark.emulated

RCC_CR, RCC_CFGR = 0x40023800, 0x40023808
PWR_CSR1, FLASH_ACR = 0x40007004, 0x40023C00


def test_the_registers_ask_for_216_mhz(builder: Builder) -> None:
    with UnicornEmulator(load_board("nucleo-f746")) as emulator:
        emulator.start(builder.bench("nucleo-f746").elf)
        Bench(emulator)
        rcc = emulator.machine.bus.models["rcc"]
        assert isinstance(rcc, Rcc)
        hz = [rcc.clock_hz(bus) for bus in (None, "apb1", "apb2")]
    assert hz == [216_000_000, 54_000_000, 108_000_000]


@pytest.mark.parametrize(
    ("address", "mask", "step"),
    [
        (RCC_CR, 1 << 17, 3),
        (PWR_CSR1, 1 << 16, 7),
        (PWR_CSR1, 1 << 17, 9),
        (FLASH_ACR, 7, 11),
        (RCC_CR, 1 << 25, 13),
        (RCC_CFGR, 8, 15),
    ],
    ids=["HSE", "overdrive", "overdrive switch", "flash", "PLL", "switch"],
)
def test_a_wait_that_times_out_falls_back(builder: Builder, address: int, mask: int, step: int) -> None:
    """The board still talks, at the right rate, from its internal oscillator, and says which step failed."""
    with UnicornEmulator(load_board("nucleo-f746"), stuck_low={address: mask}) as emulator:
        emulator.start(builder.bench("nucleo-f746").elf)
        bench = Bench(emulator)
        assert bench.greeting == [1, step, 16_000_000]
        rcc = emulator.machine.bus.models["rcc"]
        assert isinstance(rcc, Rcc)
        assert rcc.clock_hz(None) == 16_000_000
        assert bench.ask("f") == "3"


WAIT_STATES = {
    "value = 0x00000307": "value = 0x00000300",
    "mask = 0x0000000F, value = 0x00000007": "mask = 0x0000000F, value = 0x00000000",
}
OVERDRIVE = {
    'mask = 0x00010000, value = 0x00010000, what = "overdrive': 'mask = 0, value = 0, what = "overdrive',
    'mask = 0x00020000, value = 0x00020000, what = "overdrive': 'mask = 0, value = 0, what = "overdrive',
}
BUS = {"apb1 = 54_000_000": "apb1 = 27_000_000"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (WAIT_STATES, "flash has 0 wait states, 216000000 Hz needs 7"),
        (OVERDRIVE, "the core runs at 216000000 Hz without overdrive"),
        (BUS, "usart3 sends at 230769 baud, the board's line has 115200"),
    ],
    ids=["wait states", "overdrive", "baud"],
)
def test_what_hardware_would_not_survive_ends_the_emulation(
    tmp_path: Path, changes: dict[str, str], message: str
) -> None:
    board = changed_board(tmp_path, changes)
    toolchain = select(None, cpu_spec(board.chip.cpu))
    firmware = build_firmware(board, toolchain, [], [], tmp_path / "out", "none", app=SOURCES / "bench.c")
    with UnicornEmulator(board) as emulator:
        emulator.start(firmware.elf)
        with pytest.raises(LineClosedError, match=message):
            read_for_ever(emulator.uart)


def changed_board(folder: Path, changes: dict[str, str]) -> Board:
    """nucleo-f746 with some things changed in its chip's file."""
    package = load_board("nucleo-f746")
    text = package.chip.path.read_text()
    for before, after in changes.items():
        assert before in text
        text = text.replace(before, after)
    (folder / "stm32f746zg.toml").write_text(text)
    path = folder / "nucleo-f746.toml"
    path.write_text(package.path.read_text())
    return load_board(path)


def read_for_ever(line: Line) -> None:
    while True:
        line.read(5.0)
