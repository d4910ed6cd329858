"""Structural verification of a TFLite flatbuffer, once, before a reader that checks no bounds touches it."""

from __future__ import annotations

import struct

from tinydeploy.errors import ModelError
from tinydeploy.frontends.tflite.schema import (
    IDENTIFIER,
    MODEL,
    Field,
    Scalar,
    String,
    Table,
    TableRef,
    Tables,
    Union,
    Vector,
)

_UINT16 = struct.Struct("<H")
_UINT32 = struct.Struct("<I")
_INT32 = struct.Struct("<i")

REPAIR = "Export or download the model again"

# What people give by mistake: first bytes and name.
_OTHER_FORMATS = (
    (b"PK\x03\x04", "a zip archive (a PyTorch or Keras file?)"),
    (b"\x89HDF\r\n\x1a\n", "an HDF5 file (a Keras .h5?)"),
    (b"\x1f\x8b", "a gzip archive"),
    (b"\x80\x02", "a Python pickle"),
    (b"\x80\x04", "a Python pickle"),
    (b"\x7fELF", "an ELF program"),
    (b"\x93NUMPY", "a numpy array"),
    (b"version https://git-lfs", "a Git LFS pointer: the file itself was not fetched"),
    (b"<!DOCTYPE", "an HTML page"),
    (b"<html", "an HTML page"),
)

# Tags of the fields that may follow the version, which is field 1, in ONNX and TensorFlow files.
_PROTOBUF_TAGS = b"\x12\x1a\x22\x28\x32\x3a\x42"


def describe(data: bytes) -> str:
    """What a file that is not a TFLite file seems to be, for messages."""
    if not data:
        return "the file is empty"
    for magic, what in _OTHER_FORMATS:
        if data.startswith(magic):
            return f"it looks like {what}"
    if len(data) < 8:
        return f"it has only {len(data)} bytes"
    if data[0] == 8 and data[2] in _PROTOBUF_TAGS:
        return "it looks like a protocol buffer (an ONNX file or a TensorFlow SavedModel?)"
    head = data[:512]
    if all(byte in b"\t\n\r\f" or 32 <= byte < 127 for byte in head):
        return "it looks like text"
    return f"it begins with {data[:8].hex(' ')} and has no identifier TFL3"


def is_tflite(data: bytes) -> bool:
    """Does the content carry TFLite's identifier?"""
    return data[4:8] == IDENTIFIER


def validate(data: bytes, where: str) -> None:
    """Raise ModelError unless every object that the reader will touch lies inside ``data``.

    Work and memory are bounded by the size of the file: an object that several others share is checked once,
    and a file that describes more than it has room for (overlapping vectors) is refused. Alignment is not
    asked for.
    """
    if not is_tflite(data):
        raise ModelError(f"not a TFLite file: {describe(data)}", where=where)
    _Verifier(data, where).run()


class _Verifier:
    def __init__(self, data: bytes, where: str) -> None:
        self._data = data
        self._where = where
        self._seen: set[tuple[int, str]] = set()
        # Objects of an honest file do not overlap, so each costs bytes; a factor for writers that share them.
        self._budget = 8 * len(data) + 4096

    def run(self) -> None:
        pending: list[tuple[int, Table]] = [(self._follow(0, "the root"), MODEL)]
        while pending:
            position, table = pending.pop()
            if (position, table.name) not in self._seen:
                self._seen.add((position, table.name))
                pending += self._table(position, table)

    def _fail(self, what: str) -> ModelError:
        return ModelError(f"damaged TFLite file: {what}", where=self._where, fix=REPAIR)

    def _spend(self, units: int) -> None:
        self._budget -= units
        if self._budget < 0:
            raise self._fail("it describes more objects than its size has room for")

    def _inside(self, position: int, size: int, what: str) -> None:
        if position < 0 or size < 0 or position + size > len(self._data):
            raise self._fail(
                f"{what} at {position} with {size} bytes is outside the file of {len(self._data)} bytes"
            )

    def _uint32(self, position: int, what: str) -> int:
        self._inside(position, 4, what)
        return int(_UINT32.unpack_from(self._data, position)[0])

    def _uint16(self, position: int) -> int:
        return int(_UINT16.unpack_from(self._data, position)[0])

    def _follow(self, position: int, what: str) -> int:
        """The place that the offset at ``position`` names."""
        offset = self._uint32(position, what)
        if offset == 0:
            raise self._fail(f"the offset to {what} at {position} is 0")
        return position + offset

    def _table(self, position: int, table: Table) -> list[tuple[int, Table]]:
        """Check one table; the result is the tables it names."""
        self._inside(position, 4, table.name)
        vtable = position - int(_INT32.unpack_from(self._data, position)[0])
        self._inside(vtable, 4, f"the vtable of {table.name}")
        vtable_bytes, inline_bytes = self._uint16(vtable), self._uint16(vtable + 2)
        if vtable_bytes < 4 or vtable_bytes % 2 or inline_bytes < 4:
            raise self._fail(
                f"the vtable of {table.name} at {vtable} claims {vtable_bytes} bytes "
                f"and {inline_bytes} bytes of fields"
            )
        self._inside(vtable, vtable_bytes, f"the vtable of {table.name}")
        self._inside(position, inline_bytes, table.name)
        self._spend(1 + len(table.fields))
        offsets: dict[int, int] = {}
        for slot, field in table.fields:
            entry = 4 + 2 * slot
            offset = self._uint16(vtable + entry) if entry < vtable_bytes else 0
            size = field.size_bytes if isinstance(field, Scalar) else 4
            if offset and offset + size > inline_bytes:
                raise self._fail(f"field {slot} of {table.name} at {position} is outside its table")
            offsets[slot] = position + offset if offset else 0
        found: list[tuple[int, Table]] = []
        for slot, field in table.fields:
            if offsets[slot]:
                found += self._field(offsets, slot, field, table)
        return found

    def _field(
        self, offsets: dict[int, int], slot: int, field: Field, table: Table
    ) -> list[tuple[int, Table]]:
        position, what = offsets[slot], f"field {slot} of {table.name}"
        match field:
            case Scalar():
                return []
            case String():
                _, count = self._vector(position, 1, f"the string in {what}")
                self._spend(count)
                return []
            case Vector(size_bytes, bulk):
                _, count = self._vector(position, size_bytes, f"the vector in {what}")
                self._spend(1 if bulk else count)
                return []
            case TableRef(target):
                return [(self._follow(position, what), target)]
            case Tables(target):
                start, count = self._vector(position, 4, f"the vector in {what}")
                self._spend(count)
                entries = range(start, start + 4 * count, 4)
                return [(self._follow(entry, f"an entry of {what}"), target) for entry in entries]
            case Union(type_slot, members):
                kind = self._data[offsets[type_slot]] if offsets[type_slot] else 0
                target_position = self._follow(position, what)
                self._inside(target_position, 4, what)
                return [(target_position, target) for number, target in members if number == kind]

    def _vector(self, position: int, size_bytes: int, what: str) -> tuple[int, int]:
        """(start, count) of the vector that the offset at ``position`` names."""
        start = self._follow(position, what)
        count = self._uint32(start, what)
        self._inside(start + 4, count * size_bytes, what)
        return start + 4, count
