"""Firmware built once per board and compiler, and the emulators to run it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tinydeploy.boards import load_board
from tinydeploy.emulate import Emulator, available_emulators, open_emulator
from tinydeploy.firmware import Firmware, build_firmware
from tinydeploy.toolchain import available, cpu_spec, select

SOURCES = Path(__file__).parent / "firmware"
QUIET_S = 0.3
LONGEST_S = 30.0

# Board and emulator kind; the M4 image runs on both.
PLACES = [("qemu-m4", "qemu"), ("qemu-m4", "unicorn"), ("nucleo-f746", "unicorn")]
COMPILERS = ["gcc", "zig"]


@dataclass
class Builder:
    """Images by what they are made of; each is built when first asked for."""

    folder: Path
    built: dict[tuple[str, ...], Firmware] = field(default_factory=dict)

    def bench(self, board: str, compiler: str = "gcc") -> Firmware:
        """The test bench of firmware/bench.c."""
        return self._build(board, compiler, "none", [], SOURCES / "bench.c")

    def model(self, board: str, compiler: str = "gcc", level: str = "io") -> Firmware:
        """The RPC server with the model of firmware/tiny_model.c."""
        return self._build(board, compiler, level, [SOURCES / "tiny_model.c"], None)

    def _build(
        self, board: str, compiler: str, level: str, sources: list[Path], app: Path | None
    ) -> Firmware:
        key = (board, compiler, level, str(app))
        if key not in self.built:
            found = load_board(board)
            cpu = cpu_spec(found.chip.cpu)
            if compiler not in available(cpu):
                pytest.skip(f"no {compiler} for {cpu.key} is installed")
            out = self.folder / "-".join([board, compiler, level, app.stem if app else "model"])
            self.built[key] = build_firmware(
                found, select(compiler, cpu), sources, [], out, level, 64, app=app
            )
        return self.built[key]


@pytest.fixture(scope="session")
def builder(tmp_path_factory: pytest.TempPathFactory) -> Builder:
    return Builder(tmp_path_factory.mktemp("firmware"))


class Bench:
    """A running bench: commands of one byte, answers of one line each."""

    def __init__(self, emulator: Emulator) -> None:
        self.emulator = emulator
        self._received = b""
        self.greeting = [int(self.line()) for _ in range(3)]

    def line(self) -> str:
        """The next line, without its end."""
        while b"\n" not in self._received:
            piece = self.emulator.uart.read(LONGEST_S)
            assert piece, f"no answer, only {self._received!r}"
            self._received += piece
        line, _, self._received = self._received.partition(b"\n")
        return line.decode("ascii")

    def send(self, commands: str) -> None:
        self.emulator.uart.write(commands.encode())

    def ask(self, command: str) -> str:
        self.send(command)
        return self.line()

    def everything(self, command: str) -> bytes:
        """All that comes after a command, until the line is quiet."""
        self.send(command)
        received = self.emulator.uart.read(LONGEST_S)
        while piece := self.emulator.uart.read(QUIET_S):
            received += piece
        return received


@pytest.fixture
def start() -> Iterator[Callable[[str, str, Firmware], Emulator]]:
    """Starts emulators of a kind, and stops them all at the end."""
    running: list[Emulator] = []

    def started(board: str, kind: str, firmware: Firmware) -> Emulator:
        found = load_board(board)
        if kind not in available_emulators(found):
            pytest.skip(f"the emulator {kind} of {board} is not installed")
        emulator = open_emulator(found, kind)
        running.append(emulator)
        emulator.start(firmware.elf)
        return emulator

    yield started
    for emulator in running:
        emulator.stop()
