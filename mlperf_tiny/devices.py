"""Devices under test: emulated ones that run an image, or one behind a port."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mlperf_tiny.accuracy import OpenDut
from mlperf_tiny.dut import Dut
from tinydeploy.boards import Board
from tinydeploy.emulate import start_emulator
from tinydeploy.rpc.transport import open_transport


def emulated_dut(board: Board, elf: Path) -> OpenDut:
    """A fresh emulated board each time; its line carries every byte, so nothing is read back."""

    @contextmanager
    def opened(log: Callable[[str], None]) -> Iterator[Dut]:
        with start_emulator(board, elf) as emulator:
            yield Dut(emulator.uart, log=log, trust_line=True)

    return opened


def dut_at(port: str, baud: int, *, trust_line: bool = False) -> OpenDut:
    """The device behind a serial port or a socket."""

    @contextmanager
    def opened(log: Callable[[str], None]) -> Iterator[Dut]:
        with open_transport(port, baud) as line:
            yield Dut(line, log=log, trust_line=trust_line)

    return opened
