"""The bootloader in the ROM of an ESP32-C3, as far as esptool uses it without its stub, on a pseudo terminal.

Commands as in Espressif's "Serial Protocol": frames of SLIP, a header of eight bytes, an answer for each.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pty
import struct
import threading
import tty
import zlib
from types import TracebackType

ESP32C3, ESP32S3 = 5, 9
FLASH_BYTES = 4 << 20
SECTOR_BYTES = 4096
FAILED, BAD_CHECKSUM, UNKNOWN_COMMAND = 0x06, 0x07, 0x05

_END = 0xC0
_CHECKSUM_START = 0xEF
_SPI_CMD, _SPI_USR2, _SPI_W0 = 0x6000_2000, 0x6000_2020, 0x6000_2058
_EFUSE = 0x6000_8800
_READ_ID, _ID_OF_4_MIB = 0x9F, 0x1640EF


class EspRom:
    """A chip in download mode. ``port`` is the serial port; ``flash`` what it holds, erased at first.

    Faults: ``silent`` never answers, ``gone_after`` unplugs the port after so many blocks, ``worn`` stores
    another byte than the first one sent.
    """

    def __init__(
        self,
        chip: int = ESP32C3,
        *,
        silent: bool = False,
        gone_after: int | None = None,
        worn: bool = False,
    ) -> None:
        self.flash = bytearray(b"\xff" * FLASH_BYTES)
        self.commands: list[int] = []
        self.bauds: list[int] = []
        self._chip, self._silent, self._gone_after, self._worn = chip, silent, gone_after, worn
        self._registers: dict[int, int] = {_EFUSE + 0x44: 0x1234_5678, _EFUSE + 0x48: 0x9ABC}
        self._at = self._blocks = 0
        self._inflate = zlib.decompressobj()
        self._line, self._other = pty.openpty()
        tty.setraw(self._other)
        self.port = os.ttyname(self._other)
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> EspRom:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._unplug()
        self._thread.join(5)

    def _unplug(self) -> None:
        """Close the far end first, so that a read here ends too."""
        for end in (self._other, self._line):
            with contextlib.suppress(OSError):
                os.close(end)

    def _serve(self) -> None:
        frame: bytearray | None = None
        with contextlib.suppress(OSError):
            while True:
                for byte in os.read(self._line, 4096):
                    if byte != _END:
                        if frame is not None:
                            frame.append(byte)
                    elif frame:
                        self._answer(_unescaped(bytes(frame)))
                        frame = None
                    else:
                        frame = bytearray()

    def _answer(self, frame: bytes) -> None:
        _direction, command, size, check = struct.unpack_from("<BBHI", frame)
        data = frame[8 : 8 + size]
        self.commands.append(command)
        if self._silent:
            return
        if self._gone_after is not None and self._blocks >= self._gone_after:
            self._unplug()
            raise OSError
        value, body, status = self._carry_out(command, data, check)
        reply = body + bytes([1 if status else 0, status, 0, 0])
        head = struct.pack("<BBHI", 1, command, len(reply), value)
        copies = 8 if command == 0x08 else 1  # as many as SYNC gets
        os.write(self._line, _slip(head + reply) * copies)

    def _carry_out(self, command: int, data: bytes, check: int) -> tuple[int, bytes, int]:
        """The answer's value, its data and its status."""
        words = struct.unpack_from(f"<{min(len(data) // 4, 5)}I", data)
        if command == 0x08:  # SYNC
            return 0x2012_0707, b"", 0
        if command == 0x14:  # GET_SECURITY_INFO
            return 0, struct.pack("<I8BII", 0, *bytes(8), self._chip, 0), 0
        if command == 0x0A:  # READ_REG
            return self._registers.get(words[0], 0), b"", 0
        if command == 0x09:  # WRITE_REG
            self._write(words[0], words[1])
        elif command == 0x0F:  # CHANGE_BAUDRATE
            self.bauds.append(words[0])
        elif command in (0x02, 0x10):  # FLASH_BEGIN, FLASH_DEFL_BEGIN
            return 0, b"", self._begin(words[0], words[3])
        elif command in (0x03, 0x11):  # FLASH_DATA, FLASH_DEFL_DATA
            return 0, b"", self._store(data[16 : 16 + words[0]], check, packed=command == 0x11)
        elif command == 0x13:  # SPI_FLASH_MD5
            return 0, hashlib.md5(self.flash[words[0] : words[0] + words[1]]).hexdigest().encode(), 0
        elif command not in (0x0B, 0x0D, 0x04, 0x12):  # SPI_SET_PARAMS, SPI_ATTACH, FLASH_END, FLASH_DEFL_END
            return 0, b"", UNKNOWN_COMMAND
        return 0, b"", 0

    def _write(self, address: int, value: int) -> None:
        if address != _SPI_CMD:  # a transaction is over at once: the register reads 0
            self._registers[address] = value
        elif self._registers.get(_SPI_USR2, 0) & 0xFF == _READ_ID:
            self._registers[_SPI_W0] = _ID_OF_4_MIB

    def _begin(self, size: int, offset: int) -> int:
        if offset % SECTOR_BYTES or offset + size > FLASH_BYTES:
            return FAILED
        end = -(-(offset + size) // SECTOR_BYTES) * SECTOR_BYTES
        self.flash[offset:end] = b"\xff" * (end - offset)
        self._at, self._inflate = offset, zlib.decompressobj()
        return 0

    def _store(self, data: bytes, check: int, *, packed: bool) -> int:
        found = _CHECKSUM_START
        for byte in data:
            found ^= byte
        if found != check:
            return BAD_CHECKSUM
        plain = self._inflate.decompress(data) if packed else data
        if self._worn and self._blocks == 0:
            plain = bytes([plain[0] ^ 1]) + plain[1:]
        self.flash[self._at : self._at + len(plain)] = plain
        self._at += len(plain)
        self._blocks += 1
        return 0


def _slip(data: bytes) -> bytes:
    escaped = data.replace(b"\xdb", b"\xdb\xdd").replace(b"\xc0", b"\xdb\xdc")
    return b"\xc0" + escaped + b"\xc0"


def _unescaped(frame: bytes) -> bytes:
    return frame.replace(b"\xdb\xdc", b"\xc0").replace(b"\xdb\xdd", b"\xdb")
