"""Lines that carry bytes to a device and back. They may lose and damage bytes; `link` copes with that."""

from __future__ import annotations

import errno
import socket
import time
from types import TracebackType
from typing import Protocol, Self
from urllib.parse import urlsplit

import serial

from tinydeploy.rpc.errors import LineClosedError, PortError

_POLL_S = 0.02  # a serial port's own timeout; longer waits are made of these
_WRITE_S = 10.0  # a line that accepts nothing for so long counts as closed
_BITS_PER_BYTE = 10  # start, eight, stop


class Transport(Protocol):
    """What `Client` needs of a line. Every method raises LineClosedError once the line is gone.

    `name` is what the user calls it; `seconds_per_byte` is 0 where the line's speed does not matter.
    """

    @property
    def name(self) -> str: ...

    @property
    def seconds_per_byte(self) -> float: ...

    def write(self, data: bytes) -> None:
        """Hands over all of `data`."""

    def read(self, timeout_s: float) -> bytes:
        """What has arrived, as soon as something has; empty only after `timeout_s`."""

    def close(self) -> None:
        """Releases the line; more than once is allowed."""


class ClosingTransport:
    """`with` for the transports below."""

    def close(self) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class SerialTransport(ClosingTransport):
    """A port of pyserial: `/dev/tty*`, `COM*`, a pty, `rfc2217://`, `loop://`.

    Raises PortError when it cannot be opened.
    """

    def __init__(self, url: str, baudrate: int = 115200) -> None:
        self.name = url
        self.seconds_per_byte = _BITS_PER_BYTE / baudrate
        is_device = "://" not in url
        try:
            # `exclusive`: a second program on the same port would take every other answer away.
            self._port = serial.serial_for_url(
                url, baudrate, timeout=_POLL_S, write_timeout=_WRITE_S, exclusive=True if is_device else None
            )
        except (serial.SerialException, ValueError, OSError) as error:
            raise _port_error(url, error) from error

    def write(self, data: bytes) -> None:
        try:
            self._port.write(data)
        except (serial.SerialException, OSError) as error:
            raise LineClosedError(self.name, _one_line(error)) from error

    def read(self, timeout_s: float) -> bytes:
        deadline = time.monotonic() + timeout_s
        try:
            while True:
                received: bytes = self._port.read(max(1, self._port.in_waiting))
                if received or time.monotonic() >= deadline:
                    return received
        except (serial.SerialException, OSError) as error:
            raise LineClosedError(self.name, _one_line(error)) from error

    def close(self) -> None:
        self._port.close()


class SocketTransport(ClosingTransport):
    """A TCP connection, as emulators and terminal servers offer; raises PortError when nobody listens."""

    seconds_per_byte = 0.0

    def __init__(self, host: str, port: int) -> None:
        self.name = f"socket://{host}:{port}"
        try:
            self._socket = socket.create_connection((host, port), timeout=_WRITE_S)
        except OSError as error:
            raise _port_error(self.name, error) from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def write(self, data: bytes) -> None:
        try:
            self._socket.settimeout(_WRITE_S)
            self._socket.sendall(data)
        except OSError as error:
            raise LineClosedError(self.name, _one_line(error)) from error

    def read(self, timeout_s: float) -> bytes:
        try:
            self._socket.settimeout(max(timeout_s, 1e-3))
            received = self._socket.recv(4096)
        except TimeoutError:
            return b""
        except OSError as error:
            raise LineClosedError(self.name, _one_line(error)) from error
        if not received:
            raise LineClosedError(self.name, "the peer closed it")
        return received

    def close(self) -> None:
        self._socket.close()


def open_transport(url: str, baudrate: int = 115200) -> SerialTransport | SocketTransport:
    """The line that `url` names: `socket://HOST:PORT`, or whatever pyserial understands. Raises PortError."""
    if not url.startswith("socket://"):
        return SerialTransport(url, baudrate)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if host is None or port is None:
        raise PortError("this is not socket://HOST:PORT", where=url, fix="Give a host and a port number")
    return SocketTransport(host, port)


def _port_error(url: str, error: Exception) -> PortError:
    number = getattr(error, "errno", None)
    text = _one_line(error)
    if number == errno.ENOENT:
        return PortError("there is no such port", where=url, fix="Plug the board in, or give another --port")
    if number == errno.EACCES:
        fix = "Add yourself to the port's group (often dialout) and log in again"
        return PortError("this user may not open the port", where=url, fix=fix)
    if number is None and "FileNotFoundError" in text:  # Windows: pyserial tells the error's text only
        return PortError("there is no such port", where=url, fix="Plug the board in, or give another --port")
    if number in (errno.EBUSY, errno.EAGAIN) or "exclusively lock" in text or "PermissionError" in text:
        return PortError("another program uses the port", where=url, fix="Close that program, then try again")
    if number == errno.ECONNREFUSED:
        return PortError("nobody listens there", where=url, fix="Start the emulator or server first")
    return PortError(f"the port cannot be opened ({text})", where=url, fix="Check the name of the port")


def _one_line(error: Exception) -> str:
    strerror = getattr(error, "strerror", None)
    return " ".join(str(strerror or error or type(error).__name__).split())
