"""The Unicorn model as an emulator of boards: a thread runs the chip, a socket is its serial line."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from tinydeploy.boards import Board
from tinydeploy.emulate.base import Emulator
from tinydeploy.emulate.chip.core import SUPPORTED
from tinydeploy.emulate.chip.hook import Hook, PythonHook, make_hook
from tinydeploy.emulate.chip.machine import Machine
from tinydeploy.emulate.line import Line
from tinydeploy.errors import DeviceError, ToolError
from tinydeploy.firmware import read_image

_PIECE = 4096


class Attachment(Protocol):
    """Something to look at the chip with, such as a ``BlockTrace``."""

    def install(self, engine: Any) -> None:
        """Attach to a Unicorn engine."""


class UnicornEmulator(Emulator):
    """A board in this process.

    ``compiled`` False takes the slow block hook in Python, as does a machine without C compiler.
    ``stuck_low`` gives register bits (by address) that always read as 0: broken hardware, for tests.
    ``attachment`` gets the engine before the first instruction.
    """

    kind = "unicorn"

    def __init__(
        self,
        board: Board,
        *,
        compiled: bool = True,
        stuck_low: Mapping[int, int] | None = None,
        attachment: Attachment | None = None,
    ) -> None:
        self.name = f"{board.name} in Unicorn"
        if board.uart is None or board.chip.cpu not in SUPPORTED:
            raise ToolError(
                f"cannot emulate {board.chip.cpu}. Supported: {', '.join(SUPPORTED)}", where=self.name
            )
        self._board = board
        self._compiled = compiled
        self._stuck_low = dict(stuck_low or {})
        self._attachment = attachment
        self._machine: Machine | None = None
        self._threads: list[threading.Thread] = []
        self._inside: socket.socket | None = None
        self._line: Line | None = None
        self._failure = ""

    def start(self, elf: Path) -> None:
        image = read_image(elf)
        self.stop()
        self._failure = ""
        outside, self._inside = socket.socketpair()
        self._line = Line(outside, self.name, lambda: self._failure or "the emulator was stopped")
        self._machine = Machine(self._board, self._transmit, self._hook(), self._stuck_low)
        if self._attachment is not None:
            self._attachment.install(self._machine.core.engine)
        self._machine.load(image)
        self._threads = [
            threading.Thread(target=self._run, daemon=True),
            threading.Thread(target=self._pump_input, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    @property
    def machine(self) -> Machine:
        """The chip itself, for a look at its registers."""
        if self._machine is None:
            raise ToolError("is not started", where=self.name)
        return self._machine

    @property
    def uart(self) -> Line:
        if self._line is None:
            raise ToolError("is not started", where=self.name)
        return self._line

    def instructions(self) -> int:
        return self.machine.instructions

    def stop(self) -> None:
        if self._machine is not None:
            self._machine.stop()
        if self._inside is not None:
            with contextlib.suppress(OSError):
                self._inside.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        if self._inside is not None:
            self._inside.close()
            self._inside = None
        if self._line is not None:
            self._line.close()
            self._line = None
        self._threads = []
        self._machine = None

    def _hook(self) -> Hook:
        return make_hook() if self._compiled else PythonHook()

    def _run(self) -> None:
        assert self._machine is not None
        try:
            self._machine.run()
        except DeviceError as error:
            self._failure = error.what
        if self._inside is not None:
            with contextlib.suppress(OSError):
                self._inside.shutdown(socket.SHUT_RDWR)

    def _pump_input(self) -> None:
        """Line to chip; ends when the line is closed on either side."""
        assert self._machine is not None
        assert self._inside is not None
        with contextlib.suppress(OSError):
            while data := self._inside.recv(_PIECE):
                self._machine.receive(data)

    def _transmit(self, data: bytes) -> None:
        if self._inside is not None:
            with contextlib.suppress(OSError):
                self._inside.sendall(data)
