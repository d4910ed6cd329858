"""A device that is a process: the `host` board, served over its standard input and output."""

from __future__ import annotations

import contextlib
import queue
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path

from tinydeploy.rpc.errors import LineClosedError, PortError
from tinydeploy.rpc.transport import ClosingTransport

_EXIT_S = 5.0


class ProcessTransport(ClosingTransport):
    """Starts `argv` and talks to it; closing ends the process. Raises PortError when it cannot start.

    A thread reads, because no other way to wait for a pipe with a timeout exists on every system.
    """

    seconds_per_byte = 0.0

    def __init__(self, argv: Sequence[str]) -> None:
        self.name = Path(argv[0]).name
        try:
            self._process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, shell=False
            )
        except OSError as error:
            raise PortError(
                f"it cannot be started ({error.strerror})", where=argv[0], fix="Build the image again"
            ) from error
        self._received: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._ended = False
        self._reader = threading.Thread(target=self._pump, daemon=True)
        self._reader.start()

    def write(self, data: bytes) -> None:
        pipe = self._process.stdin
        if pipe is None or pipe.closed:
            raise LineClosedError(self.name)
        view = memoryview(data)
        try:
            while view:
                view = view[pipe.write(view) :]
        except OSError as error:
            raise self._closed() from error

    def read(self, timeout_s: float) -> bytes:
        if self._ended:
            raise self._closed()
        try:
            received = self._received.get(timeout=max(timeout_s, 0.0))
        except queue.Empty:
            return b""
        if not received:
            self._ended = True
            raise self._closed()
        return received

    def close(self) -> None:
        self._ended = True
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        try:
            self._process.wait(_EXIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _pump(self) -> None:
        """Passes on what arrives, and an empty piece at the end."""
        pipe = self._process.stdout
        while pipe is not None:
            try:
                received = pipe.read(4096)
            except OSError:
                received = b""
            self._received.put(received)
            if not received:
                return

    def _closed(self) -> LineClosedError:
        with contextlib.suppress(subprocess.TimeoutExpired):
            code = self._process.wait(_EXIT_S)
            return LineClosedError(self.name, f"the process ended with {code}")
        return LineClosedError(self.name)
