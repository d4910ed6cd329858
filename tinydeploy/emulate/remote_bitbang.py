"""A chip model behind a JTAG probe: OpenOCD's ``remote_bitbang`` driver connects to it over TCP.

The protocol is one character per step: ``0`` to ``7`` set TCK, TMS and TDI, ``R`` asks for TDO, ``r`` to
``u`` set TRST and SRST, ``B`` and ``b`` blink, ``Q`` leaves (OpenOCD, ``doc/manual/jtag/drivers``).
"""

from __future__ import annotations

import contextlib
import socket
import threading

from tinydeploy.boards import Board
from tinydeploy.emulate.chip.hook import make_hook
from tinydeploy.emulate.chip.machine import Machine
from tinydeploy.emulate.debug import BypassTap, Chain, DebugPort, DebugTarget, st_flash_f7
from tinydeploy.emulate.line import Line
from tinydeploy.errors import DeviceError

_PIECE = 1 << 16
_STOP_S = 10.0


class RemoteBitbang:
    """An erased chip on a TCP port of 127.0.0.1, for one debugger. Use it in a ``with`` statement.

    When the debugger leaves, the chip runs what it was given; ``uart`` is its serial line.
    Raises ToolError for chips without a model of their flash controller.
    """

    def __init__(self, board: Board) -> None:
        self._outside, self._inside = socket.socketpair()
        self._failure = ""
        self._uart = Line(self._outside, board.name, lambda: self._failure or "the emulator was stopped")
        self._machine = Machine(board, self._transmit, make_hook(), {})
        self.target = DebugTarget(board, self._machine)
        self.debug_port = DebugPort(st_flash_f7.CORE_TAP, self.target)
        boundary = BypassTap(st_flash_f7.BOUNDARY_IR_BITS, st_flash_f7.BOUNDARY_TAP)
        self._chain = Chain((self.debug_port, boundary))
        self._clock = 0
        self._stopping = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._client: socket.socket | None = None
        self._threads = [
            threading.Thread(target=work, daemon=True) for work in (self._serve, self._pump_input)
        ]

    @property
    def port(self) -> int:
        """The TCP port to give to ``remote_bitbang port``."""
        return int(self._listener.getsockname()[1])

    @property
    def uart(self) -> Line:
        """The board's serial line; silent while the debugger is connected."""
        return self._uart

    def __enter__(self) -> RemoteBitbang:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping = True
        self._machine.stop()
        for end in (self._client, self._listener, self._inside):
            if end is not None:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()
        for thread in self._threads:
            thread.join(_STOP_S)
        self._uart.close()

    def handle(self, data: bytes) -> tuple[bytes, bool]:
        """Carry out the steps of a piece of the protocol: the answers, and whether the debugger left."""
        answers = bytearray()
        chain = self._chain
        for step in data:
            if 0x30 <= step <= 0x37:
                if step & 4 and not self._clock:
                    chain.clock(step >> 1 & 1, step & 1)
                self._clock = step & 4
            elif step == 0x52:  # R
                answers.append(0x30 + chain.tdo)
            elif 0x72 <= step <= 0x75:  # r to u
                self._resets(trst=bool(step - 0x72 & 2), srst=bool(step - 0x72 & 1))
            elif step == 0x51:  # Q
                return bytes(answers), True
        return bytes(answers), False

    def _resets(self, *, trst: bool, srst: bool) -> None:
        if trst:
            self._chain.reset()
        if srst:
            self.target.reset()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            self._client, _ = self._listener.accept()
            self._client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            left = False
            while not left and (data := self._client.recv(_PIECE)):
                answers, left = self.handle(data)
                self._client.sendall(answers)
        if self._stopping or not self.target.free():
            return
        try:
            self._machine.run()
        except DeviceError as error:
            self._failure = error.what
        with contextlib.suppress(OSError):
            self._inside.shutdown(socket.SHUT_RDWR)

    def _pump_input(self) -> None:
        with contextlib.suppress(OSError):
            while data := self._inside.recv(_PIECE):
                self._machine.receive(data)

    def _transmit(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            self._inside.sendall(data)
