"""UF2, which USB bootloaders take (github.com/microsoft/uf2): blocks of 512 bytes with an address each."""

from __future__ import annotations

import struct
from collections.abc import Sequence

from tinydeploy.errors import TinyDeployError
from tinydeploy.firmware import Segment

PAGE = 256
_BLOCK = 512
_HEAD = struct.Struct("<8I")
_MAGICS = (0x0A32_4655, 0x9E5D_5157)
_END = 0x0AB1_6F30
_HAS_FAMILY = 0x2000
_NOT_MAIN_FLASH = 0x0001
_DATA_BYTES = _BLOCK - _HEAD.size - 4
_ERASED = 0xFF


def to_uf2(segments: Sequence[Segment], family: int) -> bytes:
    """The segments as pages of 256 bytes, each once, in order; what a page lacks is as erased flash.

    ``family`` is the chip's number; its bootloader drops blocks of others.
    """
    pages: dict[int, bytearray] = {}
    for segment in segments:
        for address in range(segment.address & -PAGE, segment.end, PAGE):
            page = pages.setdefault(address, bytearray([_ERASED]) * PAGE)
            first, last = max(segment.address, address), min(segment.end, address + PAGE)
            page[first - address : last - address] = segment.data[
                first - segment.address : last - segment.address
            ]
    blocks = []
    for index, address in enumerate(sorted(pages)):
        head = _HEAD.pack(*_MAGICS, _HAS_FAMILY, address, PAGE, index, len(pages), family)
        blocks.append(head + bytes(pages[address]).ljust(_DATA_BYTES, b"\0") + _END.to_bytes(4, "little"))
    return b"".join(blocks)


def from_uf2(data: bytes) -> tuple[int, tuple[Segment, ...]]:
    """The family and the segments of a UF2 file, neighbours joined; raises TinyDeployError if damaged."""
    if not data or len(data) % _BLOCK:
        raise TinyDeployError(f"a UF2 file is a multiple of {_BLOCK} bytes, this has {len(data)}")
    families: set[int] = set()
    segments: list[Segment] = []
    for number in range(len(data) // _BLOCK):
        block = data[number * _BLOCK : (number + 1) * _BLOCK]
        first, second, flags, address, size, index, count, family = _HEAD.unpack_from(block)
        intact = (first, second) == _MAGICS and int.from_bytes(block[-4:], "little") == _END
        if not intact or size > _DATA_BYTES or index != number or count != len(data) // _BLOCK:
            raise TinyDeployError(f"UF2 block {number} is damaged")
        if flags & _NOT_MAIN_FLASH:
            continue
        if flags & _HAS_FAMILY:
            families.add(family)
        content = block[_HEAD.size : _HEAD.size + size]
        if segments and segments[-1].end == address:
            segments[-1] = Segment(segments[-1].address, segments[-1].data + content)
        else:
            segments.append(Segment(address, content))
    if len(families) > 1:
        raise TinyDeployError("a UF2 file for several chips")
    return (families.pop() if families else 0), tuple(segments)
