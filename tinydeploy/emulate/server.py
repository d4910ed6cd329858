"""An emulated serial line on a TCP port: any program can talk to the board as to a real one."""

from __future__ import annotations

import contextlib
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
            raise ToolError(
                f"TCP port {port} cannot be opened ({getattr(error, 'strerror', None) or error})",
                where=line.name,
                fix="Give another --tcp-port, or 0 for any free one",
            ) from error
        self._listener.settimeout(_POLL_S)
        self._client: socket.socket | None = None
        self._output = threading.Thread(target=self._pump_output, daemon=True)
        self._output.start()

    @property
    def url(self) -> str:
        """What to give as ``--port``: ``socket://127.0.0.1:N``."""
        return f"socket://127.0.0.1:{self._listener.getsockname()[1]}"

    def serve_forever(self) -> None:
        """Serve until ``close`` or until the emulator ends; then raises LineClosedError."""
        while not self._stopping.is_set():
            with contextlib.suppress(TimeoutError):
                client, _ = self._listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with client:
                    self._client = client
                    self._pump_input(client)
                    self._client = None
            if not self._output.is_alive() and not self._stopping.is_set():
                self._line.write(b"")
                raise LineClosedError(self._line.name)

    def close(self) -> None:
        """Stop serving; the line itself stays open."""
        self._stopping.set()
        self._output.join()
        self._listener.close()

    def _pump_input(self, client: socket.socket) -> None:
        client.settimeout(_POLL_S)
        while not self._stopping.is_set() and self._output.is_alive():
            try:
                data = client.recv(_PIECE)
            except TimeoutError:
                continue
            except OSError:
                return
            if not data:
                return
            self._line.write(data)

    def _pump_output(self) -> None:
        while not self._stopping.is_set():
            try:
                data = self._line.read(_POLL_S)
            except LineClosedError:
                return
            client = self._client
            if client is not None and data:
                with contextlib.suppress(OSError):
                    client.sendall(data)
