"""An emulated board's serial line: one end of a connected socket, in the shape of ``rpc.Transport``."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Callable

from tinydeploy.rpc import LineClosedError

_WRITE_S = 30.0
_PIECE = 4096
_CONNECT_S = 30.0
_POLL_S = 0.05


def accept_from(process: subprocess.Popen[str], listener: socket.socket) -> socket.socket | None:
    """The connection that an emulator's process makes; None where it ends or takes too long."""
    listener.settimeout(_POLL_S)
    for _ in range(int(_CONNECT_S / _POLL_S)):
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            if process.poll() is not None:
                return None
            continue
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection
    return None


class Line:
    """Bytes to and from an emulated UART.

    ``reason`` says, once the line is closed, why; it becomes part of the LineClosedError.
    """

    seconds_per_byte = 0.0

    def __init__(self, connection: socket.socket, name: str, reason: Callable[[], str] | None = None) -> None:
        self.name = name
        self._socket = connection
        self._reason = reason or (lambda: "the emulator ended")

    def write(self, data: bytes) -> None:
        """Hand over all of ``data``; raises LineClosedError once the emulator is gone."""
        try:
            self._socket.settimeout(_WRITE_S)
            self._socket.sendall(data)
        except OSError as error:
            raise LineClosedError(self.name, self._reason()) from error

    def read(self, timeout_s: float) -> bytes:
        """What has arrived, as soon as something has; empty only after ``timeout_s``."""
        try:
            self._socket.settimeout(max(timeout_s, 1e-3))
            received = self._socket.recv(_PIECE)
        except TimeoutError:
            return b""
        except OSError as error:
            raise LineClosedError(self.name, self._reason()) from error
        if not received:
            raise LineClosedError(self.name, self._reason())
        return received

    def close(self) -> None:
        """Release the line; more than once is allowed."""
        self._socket.close()
