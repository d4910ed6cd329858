"""Seeded ways to break a file: its structure, or only its numbers."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable

from tests.frontends.flatbuffer_map import FileMap

Mutation = Callable[[random.Random, bytearray, FileMap], None]

WORDS = (0, 1, 2, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF0, 0xFFFFFFFE, 0xFFFFFFFF)
EDGES = {
    1: (0, 1, 2, 3, 4, 5, 9, 17, 127, 128, 254, 255),
    4: (*WORDS, 0x7F800000, 0x7FC00000, 0x00000001, 0x7F7FFFFF, 0xFF7FFFFF, 16, 64, 65536, 1 << 24),
    8: (0, 1, 127, 128, 1 << 31, (1 << 63) - 1, 1 << 63, (1 << 64) - 1, (1 << 64) - 128, 1 << 40),
}


def mutate(seed: int, data: bytes, where: FileMap) -> tuple[bytes, bool]:
    """(the broken file, whether its structure was the target); the same for the same seed."""
    rng = random.Random(seed)
    structural = seed % 5 < 3
    broken = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        if len(broken) >= 8:
            rng.choice(STRUCTURAL if structural else NUMERIC)(rng, broken, where)
    return bytes(broken), structural


def _write(broken: bytearray, position: int, size: int, value: int) -> None:
    if position >= 0 and position + size <= len(broken):
        broken[position : position + size] = (value % (1 << 8 * size)).to_bytes(size, "little")


def _offset_anywhere(rng: random.Random, broken: bytearray, where: FileMap) -> None:
    value = rng.choice((*WORDS, rng.randrange(1 << 32), rng.randrange(len(broken))))
    _write(broken, rng.choice(where.offsets), 4, value)


def _offset_to_another_object(rng: random.Random, broken: bytearray, where: FileMap) -> None:
    place = rng.choice(where.offsets)
    _write(broken, place, 4, rng.choice((*where.tables, *where.lengths)) - place)


def _offset_near_the_end(rng: random.Random, broken: bytearray, where: FileMap) -> None:
    place = rng.choice(where.offsets)
    _write(broken, place, 4, len(broken) - place - rng.randrange(-4, 9))


def _all_offsets_to_one_object(rng: random.Random, broken: bytearray, where: FileMap) -> None:
    target = rng.choice(where.tables)
    start = rng.randrange(len(where.offsets))
    for place in where.offsets[start : start + rng.randrange(1, 40)]:
        _write(broken, place, 4, target - place)


def _vtable_entry(rng: random.Random, broken: bytearray, where: FileMap) -> None:
    value = rng.choice(
        (0, 1, 2, 3, 4, 5, 8, 0x7FFF, 0xFFFE, 0xFFFF, rng.randrange(1 << 16), rng.randrange(64))
    )
    _write(broken, rng.choice(where.vtable_entries), 2, value)


def _vtable_offset(rng: random.Random, broken: bytearray, where: FileMap) -> None:
    table = rng.choice(where.tables)
    other = rng.choice(where.vtable_entries)
    _write(broken, table, 4, rng.choice((*WORDS, table - other, rng.randrange(1 << 32), 0)))


def _length(rng: random.Random, broken: bytearray, where: FileMap) -> None:
    place = rng.choice(where.lengths)
    if place + 4 > len(broken):
        return
    now = struct.unpack_from("<I", broken, place)[0]
    values = (
        0xFFFFFFFF,
        0x7FFFFFFF,
        0x40000000,
        0x3FFFFFFF,
        0,
        now + 1,
        now - 1,
        2 * now,
        rng.randrange(4096),
    )
    _write(broken, place, 4, rng.choice(values))


def _length_to_the_end(rng: random.Random, broken: bytearray, where: FileMap) -> None:
    place = rng.choice(where.lengths)
    _write(broken, place, 4, (len(broken) - place - 4) // rng.choice((1, 4, 8)))


def _root(rng: random.Random, broken: bytearray, where: FileMap) -> None:
    _write(broken, 0, 4, rng.choice((*WORDS, rng.choice(where.tables), rng.randrange(len(broken)))))


def _truncate(rng: random.Random, broken: bytearray, where: FileMap) -> None:
    del broken[rng.choice((rng.randrange(len(broken)), rng.randrange(64), len(broken) - 1)) :]


def _splice(rng: random.Random, broken: bytearray, where: FileMap) -> None:
    start, end = sorted(rng.randrange(len(broken)) for _ in range(2))
    piece = broken[start : min(end, start + 512)]
    place = rng.randrange(len(broken))
    kind = rng.randrange(3)
    if kind == 0:
        broken[place:place] = piece
    elif kind == 1:
        broken[place : place + len(piece)] = piece
    else:
        del broken[start : start + len(piece)]


def _flip(rng: random.Random, broken: bytearray, where: FileMap) -> None:
    for _ in range(rng.choice((1, 4, 32))):
        broken[rng.randrange(len(broken))] ^= 1 << rng.randrange(8)


def _random_bytes(rng: random.Random, broken: bytearray, where: FileMap) -> None:
    for _ in range(rng.choice((1, 4, 32))):
        broken[rng.randrange(len(broken))] = rng.randrange(256)


def _edge_number(rng: random.Random, broken: bytearray, where: FileMap) -> None:
    place, size = rng.choice(where.scalars)
    _write(broken, place, size, rng.choice((*EDGES[size], rng.randrange(1 << 8 * size))))


def _step_number(rng: random.Random, broken: bytearray, where: FileMap) -> None:
    place, size = rng.choice(where.scalars)
    if place + size <= len(broken):
        now = int.from_bytes(broken[place : place + size], "little")
        _write(broken, place, size, now + rng.choice((-2, -1, 1, 2)))


def _word_anywhere(rng: random.Random, broken: bytearray, where: FileMap) -> None:
    _write(broken, rng.randrange(len(broken)), 4, rng.choice(WORDS))


STRUCTURAL: tuple[Mutation, ...] = (
    _offset_anywhere,
    _offset_to_another_object,
    _offset_near_the_end,
    _all_offsets_to_one_object,
    _vtable_entry,
    _vtable_entry,
    _vtable_offset,
    _length,
    _length,
    _length_to_the_end,
    _root,
    _truncate,
    _splice,
)
NUMERIC: tuple[Mutation, ...] = (
    _flip,
    _random_bytes,
    _edge_number,
    _edge_number,
    _edge_number,
    _step_number,
    _word_anywhere,
)
