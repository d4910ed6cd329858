"""ELF files of a few bytes: what a flash tool needs of an image, without a compiler."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

from tinydeploy.firmware import Segment

_HEADER = struct.Struct("<16sHHIIIIIHHHHHH")
_PROGRAM = struct.Struct("<8I")


def pattern(size: int, seed: int = 1) -> bytes:
    """Bytes in which every bit is seen."""
    return bytes((seed + 7 * index + index // 251) & 0xFF for index in range(size))


def write_elf(path: Path, segments: Sequence[Segment], entry: int = 0) -> Path:
    """An executable for Arm with these segments."""
    at = _HEADER.size + _PROGRAM.size * len(segments)
    programs, contents = b"", b""
    for segment in segments:
        size = len(segment.data)
        programs += _PROGRAM.pack(1, at, segment.address, segment.address, size, size, 5, 4)
        contents += segment.data
        at += size
    ident = b"\x7fELF\x01\x01\x01".ljust(16, b"\0")
    head = _HEADER.pack(
        ident, 2, 40, 1, entry, _HEADER.size, 0, 0x5000200, 52, _PROGRAM.size, len(segments), 40, 0, 0
    )
    path.write_bytes(head + programs + contents)
    return path
