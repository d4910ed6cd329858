"""The calls that exchange a model's constants, in images that hold slots for them (docs/slots.md)."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from tinydeploy.rpc.client import Client
from tinydeploy.rpc.messages import unpack_words
from tinydeploy.rpc.protocol import Call

OWN = 2
"""As the active slot: the constants that are linked into the image."""

COPY_BYTES = 16 * 1024
"""What one call should copy at most, so that the line is not silent for long."""

_INFO = struct.Struct("<QQ6I")
_CONTENT = struct.Struct("<QII")
_BEGIN = struct.Struct("<IIQ")
_LARGEST_UNIT = 32


@dataclass(frozen=True, slots=True)
class SlotContent:
    """A valid slot: the hash of its model, and its counter."""

    model: int
    counter: int


@dataclass(frozen=True, slots=True)
class SlotsInfo:
    """What an image takes and holds. ``own`` is the hash of the model linked into it, ``active`` 0, 1 or OWN.

    A payload has ``payload_bytes``, a slot room for ``capacity_bytes``; checksums cover ``block_bytes``.
    """

    layout: int
    own: int
    active: int
    payload_bytes: int
    capacity_bytes: int
    block_bytes: int
    program_bytes: int
    parts: int
    contents: tuple[SlotContent | None, SlotContent | None]

    @property
    def running(self) -> int:
        """The hash of the model that runs."""
        content = None if self.active == OWN else self.contents[self.active]
        return self.own if content is None else content.model

    @property
    def next_counter(self) -> int:
        """A counter that is newer than the running one's."""
        content = None if self.active == OWN else self.contents[self.active]
        return 1 if content is None else (content.counter + 1) & 0xFFFF_FFFF

    @property
    def blocks(self) -> int:
        return -(-self.payload_bytes // self.block_bytes)


def slots_info(client: Client) -> SlotsInfo:
    """What the image's slots are and hold; raises RefusedError where it has none."""
    layout, own, active, size, capacity, block, unit, parts = client.parsed(
        Call.SLOT_INFO, _word(0), lambda payload: _exactly(_INFO, payload)
    )
    first, second = (_content(client, index) for index in (1, 2))
    return SlotsInfo(layout, own, active, size, capacity, block, unit, parts, (first, second))


def part_sums(client: Client, count: int) -> list[int]:
    """CRC-32 of each part of the image's layout."""
    return _sums(client, Call.SLOT_PARTS, count)


def block_sums(client: Client, count: int) -> list[int]:
    """CRC-32 of each block of the constants that run."""
    return _sums(client, Call.SLOT_SUMS, count)


def begin_update(client: Client, abi: int, layout: int, size_bytes: int) -> None:
    """Erase the slot that is not active; an update that was under way is forgotten."""
    client.call(Call.SLOT_BEGIN, _BEGIN.pack(abi, size_bytes, layout))


def write_slot(client: Client, offset: int, data: bytes) -> None:
    """The next bytes of the payload, in pieces that the device's flash and line take."""
    piece = (client.device.max_payload_bytes - 4) // _LARGEST_UNIT * _LARGEST_UNIT
    for at in range(0, len(data), piece):
        client.call(Call.SLOT_WRITE, _word(offset + at) + data[at : at + piece])


def copy_slot(client: Client, offset: int, size_bytes: int) -> None:
    """The next bytes of the payload, from the same place of the constants that run."""
    client.call(Call.SLOT_COPY, struct.pack("<II", offset, size_bytes))


def commit_update(client: Client, head: bytes) -> None:
    """Write header and signature and switch; the model starts afresh with the new constants."""
    client.call(Call.SLOT_COMMIT, head)
    client.forget_description()


def _content(client: Client, index: int) -> SlotContent | None:
    model, valid, counter = client.parsed(
        Call.SLOT_INFO, _word(index), lambda payload: _exactly(_CONTENT, payload)
    )
    return SlotContent(model, counter) if valid else None


def _sums(client: Client, call: Call, count: int) -> list[int]:
    found: list[int] = []
    while len(found) < count:
        more = client.parsed(call, _word(len(found)), _some_words)
        found += more
    return found[:count]


def _some_words(payload: bytes) -> list[int]:
    if not payload:
        raise ValueError("has no checksums")
    return unpack_words(payload)


def _exactly(form: struct.Struct, payload: bytes) -> tuple[int, ...]:
    if len(payload) != form.size:
        raise ValueError(f"has {len(payload)} bytes instead of {form.size}")
    return form.unpack(payload)


def _word(value: int) -> bytes:
    return value.to_bytes(4, "little")
