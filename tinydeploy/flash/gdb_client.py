"""GDB's remote serial protocol (GDB manual, appendix E): as much of it as loads a program and checks it."""

from __future__ import annotations

import socket
import time
import zlib
from types import TracebackType
from typing import Self

from tinydeploy.errors import DeviceError, ToolError

_CONNECT_S = 5.0
_ANSWER_S = 20.0
_TRIES = 3
_PIECE = 4096
_DEFAULT_PACKET = 1024


class GdbClient:
    """A connection to a gdb server: an emulator's stub, OpenOCD, pyOCD, a Black Magic Probe over TCP.

    Raises ToolError where nobody listens, DeviceError where the server refuses or falls silent.
    """

    def __init__(self, host: str, port: int) -> None:
        self.name = f"{host}:{port}"
        try:
            self._socket = socket.create_connection((host, port), timeout=_CONNECT_S)
        except OSError as error:
            raise ToolError(
                f"no gdb server answers ({error.strerror or error})",
                where=self.name,
                fix="Start it first, such as openocd or qemu-system-arm -gdb tcp::PORT",
            ) from error
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._received = b""
        try:
            self._greet()
        except DeviceError:
            self.close()
            raise

    def _greet(self) -> None:
        features = self.ask("qSupported:swbreak+;hwbreak+").split(";")
        sizes = [text.partition("=")[2] for text in features if text.startswith("PacketSize=")]
        self.packet_bytes = int(sizes[0], 16) if sizes else _DEFAULT_PACKET
        self.has_memory_map = "qXfer:memory-map:read+" in features
        self.ask("?")  # stops a running target

    def ask(self, request: str, raw: bytes = b"") -> str:
        """Send a packet and return the answer; console output that comes before it is dropped."""
        return self._ask(request.encode("ascii") + raw).decode("latin-1")

    def command(self, request: str, raw: bytes = b"", *, doing: str) -> None:
        """A packet that is answered by OK."""
        answer = self.ask(request, raw)
        if answer != "OK":
            raise DeviceError(
                f"the gdb server cannot {doing} ({answer or 'it does not know the command'})", where=self.name
            )

    def monitor(self, text: str) -> str | None:
        """Run a command of the server's own; its output, or None where it knows none such."""
        self._send(b"qRcmd," + text.encode().hex().encode())
        output = b""
        while (answer := self._answer()).startswith(b"O") and answer != b"OK":
            output += bytes.fromhex(answer[1:].decode())
        said = output.decode(errors="replace")
        refused = answer != b"OK" or "unknown command" in said or "invalid command" in said
        return None if refused else said

    def read(self, address: int, size: int) -> bytes:
        data = b""
        step = max(1, (self.packet_bytes - 16) // 2)
        while len(data) < size:
            count = min(step, size - len(data))
            answer = self.ask(f"m{address + len(data):x},{count:x}")
            try:
                piece = bytes.fromhex(answer)
            except ValueError:
                piece = b""
            if not piece:
                raise DeviceError(
                    f"the gdb server cannot read {address + len(data):#x} ({answer or 'no answer'})",
                    where=self.name,
                    fix="Give --board the board that is connected",
                )
            data += piece
        return data

    def write(self, address: int, data: bytes) -> None:
        """Write to RAM, in pieces that fit a packet."""
        step = max(1, (self.packet_bytes - 32) // 2)
        for at in range(0, len(data), step):
            piece = data[at : at + step]
            self.command(f"M{address + at:x},{len(piece):x}:{piece.hex()}", doing=f"write {address + at:#x}")

    def write_flash(self, address: int, data: bytes) -> None:
        """Write to flash that was erased."""
        step = max(1, (self.packet_bytes - 32) // 2)
        for at in range(0, len(data), step):
            piece = data[at : at + step]
            self.command(f"vFlashWrite:{address + at:x}:", _escaped(piece), doing=f"write {address + at:#x}")

    def memory_map(self) -> str:
        """The server's description of memory as XML; empty where it has none."""
        text = ""
        while self.has_memory_map:
            answer = self.ask(f"qXfer:memory-map:read::{len(text):x},{self.packet_bytes - 16:x}")
            text += answer[1:]
            if answer[:1] != "m":
                break
        return text

    def holds(self, address: int, data: bytes) -> bool:
        """Whether memory holds these bytes: by the server's checksum where it has one, else byte for byte."""
        answer = self.ask(f"qCRC:{address:x},{len(data):x}")
        if answer.startswith("C"):
            return int(answer[1:], 16) == _gdb_crc(data)
        return self.read(address, len(data)) == data

    def detach(self) -> None:
        """Let the target run."""
        self.command("D", doing="detach")

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, body: bytes) -> bytes:
        self._send(body)
        while (answer := self._answer()).startswith(b"O") and answer not in (b"OK", b"O"):
            pass
        return answer

    def _send(self, body: bytes) -> None:
        packet = b"$" + body + b"#%02x" % (sum(body) & 0xFF)
        try:
            for _ in range(_TRIES):
                self._socket.sendall(packet)
                if self._byte() == b"+":
                    return
        except OSError as error:
            raise self._lost(error) from error
        raise DeviceError("the gdb server refuses every packet", where=self.name)

    def _answer(self) -> bytes:
        while True:
            while self._byte() != b"$":
                pass
            body = bytearray()
            while (byte := self._byte()) != b"#":
                body += bytes([self._byte()[0] ^ 0x20]) if byte == b"}" else byte
            check = self._byte() + self._byte()
            del check  # TCP keeps the bytes
            self._socket.sendall(b"+")
            return _unrolled(bytes(body))

    def _byte(self) -> bytes:
        deadline = time.monotonic() + _ANSWER_S
        while not self._received:
            try:
                self._socket.settimeout(max(deadline - time.monotonic(), 1e-3))
                self._received = self._socket.recv(_PIECE)
            except TimeoutError:
                raise DeviceError(
                    f"the gdb server gave no answer within {_ANSWER_S:.0f} s", where=self.name
                ) from None
            except OSError as error:
                raise self._lost(error) from error
            if not self._received:
                raise self._lost(None)
        byte, self._received = self._received[:1], self._received[1:]
        return byte

    def _lost(self, error: OSError | None) -> DeviceError:
        detail = f" ({error.strerror})" if error is not None and error.strerror else ""
        return DeviceError(f"the gdb server closed the connection{detail}", where=self.name)


def _escaped(data: bytes) -> bytes:
    out = bytearray()
    for byte in data:
        out += bytes([0x7D, byte ^ 0x20]) if byte in b"#$}*" else bytes([byte])
    return bytes(out)


def _unrolled(body: bytes) -> bytes:
    """Undo run-length encoding: ``*`` and a character after a byte repeat it."""
    out = bytearray()
    at = 0
    while at < len(body):
        if body[at] == 0x2A and out and at + 1 < len(body):
            out += out[-1:] * (body[at + 1] - 29)
            at += 2
        else:
            out.append(body[at])
            at += 1
    return bytes(out)


def _gdb_crc(data: bytes) -> int:
    """The checksum of ``qCRC``: CRC-32, most significant bit first, started with ones, not inverted."""
    swapped = bytes(_REVERSED[byte] for byte in data)
    value = zlib.crc32(swapped) ^ 0xFFFF_FFFF
    return int(f"{value:032b}"[::-1], 2)


_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
