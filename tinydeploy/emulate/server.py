"""An emulated serial line on a TCP port: any program can talk to the board as to a real one."""

from __future__ import annotations

import contextlib
import os
import socket
import threading

from tinydeploy.emulate.line import Line
from tinydeploy.errors import ToolError
from tinydeploy.rpc import LineClosedError

_POLL_S = 0.2
_PIECE = 4096


class LineServer:
    """Serves a line on 127.0.0.1, one client after the other. What the board sends to nobody is dropped.

    ``port`` 0 lets the system choose. Raises ToolError where the port is taken.
    """

    def __init__(self, line: Line, port: int = 0) -> None:
        self._line = line
        self._stopping = threading.Event()
        try:
            self._listener = socket.create_server(("127.0.0.1", port))
        except (OSError, OverflowError) as error:
            number = getattr(error, "errno", None)
            raise ToolError(
                f"TCP port {port} cannot be opened ({os.strerror(number) if number else error})",
                where=line.name,
                fix="Give another --tcp-port, or 0 for any free one",
            ) from error
        self._listener.settimeout(_POLL_S)
        self._client: socket.socket | None = None
        self._ended: LineClosedError | None = None
        self._output = threading.Thread(target=self._pump_output, daemon=True)
        self._output.start()

    @property
    def url(self) -> str:
        """What to give as ``--port``: ``socket://127.0.0.1:N``."""
        return f"socket://127.0.0.1:{self._listener.getsockname()[1]}"

    def serve_forever(self) -> None:
        """Serve until ``close`` or until the emulator ends; then raises LineClosedError."""
        while not self._stopping.is_set():
            client = self._accept()
            if client is not None:
                with client:
                    self._client = client
                    self._pump_input(client)
                    self._client = None
            if self._ended is not None:
                raise self._ended

    def close(self) -> None:
        """Stop serving; the line itself stays open."""
        self._stopping.set()
        self._output.join()
        self._listener.close()

    def _accept(self) -> socket.socket | None:
        """The next client; None where nobody came for a while, or ``close`` was called meanwhile."""
        try:
            client, _ = self._listener.accept()
        except OSError:
            return None
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return client

    def _pump_input(self, client: socket.socket) -> None:
        client.settimeout(_POLL_S)
        while not self._stopping.is_set() and self._ended is None:
            try:
                data = client.recv(_PIECE)
            except TimeoutError:
                continue
            except OSError:
                return
            if not data:
                return
            with contextlib.suppress(LineClosedError):  # the other direction tells
                self._line.write(data)

    def _pump_output(self) -> None:
        while not self._stopping.is_set():
            try:
                data = self._line.read(_POLL_S)
            except LineClosedError as error:
                self._ended = error
                return
            client = self._client
            if client is not None and data:
                with contextlib.suppress(OSError):
                    client.sendall(data)
