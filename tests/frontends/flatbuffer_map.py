"""Where the structure of a TFLite file lies: what a mutator aims at. Independent of the verifier."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from tinydeploy.frontends.tflite.schema import MODEL, Scalar, String, Table, TableRef, Tables, Union, Vector


@dataclass
class FileMap:
    """Positions in a sound file."""

    tables: list[int] = field(default_factory=list)
    vtable_entries: list[int] = field(default_factory=list)
    offsets: list[int] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    scalars: list[tuple[int, int]] = field(default_factory=list)


def map_of(data: bytes) -> FileMap:
    found = FileMap()
    found.offsets.append(0)
    pending: list[tuple[int, Table]] = [(_u32(data, 0), MODEL)]
    while pending:
        position, table = pending.pop()
        found.tables.append(position)
        vtable = position - struct.unpack_from("<i", data, position)[0]
        size = struct.unpack_from("<H", data, vtable)[0]
        found.vtable_entries += range(vtable, vtable + size, 2)
        places = {
            slot: position + entry
            for slot, _ in table.fields
            if 4 + 2 * slot < size and (entry := struct.unpack_from("<H", data, vtable + 4 + 2 * slot)[0])
        }
        for slot, kind in table.fields:
            if slot not in places:
                continue
            place = places[slot]
            if isinstance(kind, Scalar):
                found.scalars.append((place, kind.size_bytes))
                continue
            found.offsets.append(place)
            target = place + _u32(data, place)
            if isinstance(kind, String):
                found.lengths.append(target)
            elif isinstance(kind, Vector):
                found.lengths.append(target)
                count = min(_u32(data, target), 64)
                found.scalars += [
                    (target + 4 + kind.size_bytes * index, kind.size_bytes) for index in range(count)
                ]
            elif isinstance(kind, TableRef):
                pending.append((target, kind.table))
            elif isinstance(kind, Tables):
                found.lengths.append(target)
                for index in range(_u32(data, target)):
                    entry = target + 4 + 4 * index
                    found.offsets.append(entry)
                    pending.append((entry + _u32(data, entry), kind.table))
            elif isinstance(kind, Union) and kind.type_slot in places:
                number = data[places[kind.type_slot]]
                pending += [(target, member) for key, member in kind.members if key == number]
    return found


def _u32(data: bytes, position: int) -> int:
    return int(struct.unpack_from("<I", data, position)[0])
