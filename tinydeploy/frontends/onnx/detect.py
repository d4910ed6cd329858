"""Is this file ONNX? Its container, a protocol buffer, carries no name of the format."""

from __future__ import annotations

_VARINT, _BYTES = 0, 2
_WIRE_TYPES = {1: _VARINT, 2: _BYTES, 3: _BYTES, 4: _BYTES, 5: _VARINT, 6: _BYTES, 7: _BYTES, 8: _BYTES}
"""Fields of ModelProto and their wire types, as far as all versions know them."""
_LATER = {14: _BYTES, 20: _BYTES, 25: _BYTES, 26: _BYTES}
_GRAPH = 7


def is_onnx(data: bytes) -> bool:
    """Whether the top level reads as ModelProto: known fields of the right wire types, a graph among them.

    A file that is cut in its last field still counts, so that the reader can say what is wrong with it.
    """
    position, graph = 0, False
    while position < len(data):
        key, position = _varint(data, position)
        field, wire = key >> 3, key & 7
        if {**_WIRE_TYPES, **_LATER}.get(field) != wire:
            return False
        value, position = _varint(data, position)
        if value < 0:
            return graph
        graph |= field == _GRAPH
        if wire == _BYTES:
            position += value
    return graph


def _varint(data: bytes, position: int) -> tuple[int, int]:
    """(value, next position); a negative value where the data ends or the number is too long."""
    value = 0
    for shift in range(0, 70, 7):
        if position >= len(data):
            return -1, position
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    return -1, position
