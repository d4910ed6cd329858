"""Frames: COBS keeps zeros out of the body so that a zero always ends it; a CRC-32 tells whether it is whole.

On the line a frame is `00 COBS(body CRC32le(body)) 00`. The leading delimiter ends whatever noise stands
there.
"""

from __future__ import annotations

import zlib

_FULL = 0xFF  # the code of a block of 254 bytes, which stands for no zero
CRC_BYTES = 4


def cobs_bytes(size: int) -> int:
    """Most bytes that `size` bytes become, without the delimiters."""
    return size + size // (_FULL - 1) + 1


def cobs_encode(body: bytes) -> bytes:
    """The body without zeros (Cheshire and Baker, 1999); the inverse of `cobs_decode`."""
    out = bytearray()
    parts = body.split(b"\0")
    for number, part in enumerate(parts):
        start = 0
        while len(part) - start >= _FULL - 1:
            out.append(_FULL)
            out += part[start : start + _FULL - 1]
            start += _FULL - 1
        is_last = number == len(parts) - 1
        if is_last and start and start == len(part):
            break  # a full block at the very end says all
        out.append(len(part) - start + 1)
        out += part[start:]
    return bytes(out)


def cobs_decode(encoded: bytes) -> bytes | None:
    """The body of an encoding without zeros; None where it is not one (empty, or cut short)."""
    out = bytearray()
    at = 0
    code = _FULL
    while at < len(encoded):
        if code != _FULL:
            out.append(0)
        code = encoded[at]
        block = encoded[at + 1 : at + code]
        if len(block) != code - 1:
            return None
        out += block
        at += code
    return bytes(out) if encoded else None


def encode_frame(body: bytes) -> bytes:
    """The bytes to put on the line for `body`, CRC and both delimiters included."""
    crc = zlib.crc32(body).to_bytes(CRC_BYTES, "little")
    return b"\0" + cobs_encode(body + crc) + b"\0"


class FrameDecoder:
    """Takes a stream apart into bodies; finds its place again at the next zero after any damage.

    Holds at most one frame: a longer one than `max_body_bytes` allows is skipped, never stored.
    """

    def __init__(self, max_body_bytes: int) -> None:
        self._max_pending = cobs_bytes(max_body_bytes + CRC_BYTES)
        self._pending = bytearray()
        self._skipping = False

    def feed(self, received: bytes) -> list[bytes]:
        """The bodies that `received` completes, in order; damaged frames vanish silently."""
        *finished, rest = received.split(b"\0")
        bodies = []
        for piece in finished:
            self._append(piece)
            body = None if self._skipping else _checked(bytes(self._pending))
            if body is not None:
                bodies.append(body)
            self._pending.clear()
            self._skipping = False
        self._append(rest)
        return bodies

    def _append(self, piece: bytes) -> None:
        if self._skipping or len(self._pending) + len(piece) > self._max_pending:
            self._skipping = True
            self._pending.clear()
        else:
            self._pending += piece


def _checked(encoded: bytes) -> bytes | None:
    body = cobs_decode(encoded)
    if body is None or len(body) < CRC_BYTES:
        return None
    crc = int.from_bytes(body[-CRC_BYTES:], "little")
    return body[:-CRC_BYTES] if crc == zlib.crc32(body[:-CRC_BYTES]) else None
