"""UF2 files, written and parsed back."""

from __future__ import annotations

import pytest

from tests.flash.images import pattern
from tinydeploy.errors import TinyDeployError
from tinydeploy.firmware import Segment
from tinydeploy.flash.uf2 import from_uf2, to_uf2

RP2040 = 0xE48B_FF56


def test_pages_hold_the_segments_and_erased_flash_between() -> None:
    first, second = Segment(0x1000_0000, pattern(600)), Segment(0x1000_0258, pattern(8, 99))
    far = Segment(0x1004_0010, pattern(3))
    data = to_uf2([far, first, second], RP2040)
    assert len(data) == 512 * (3 + 1)
    family, found = from_uf2(data)
    assert family == RP2040
    assert [(segment.address, len(segment.data)) for segment in found] == [
        (0x1000_0000, 768),
        (0x1004_0000, 256),
    ]
    assert found[0].data == (first.data + second.data).ljust(768, b"\xff")
    assert found[1].data == (b"\xff" * 16 + far.data).ljust(256, b"\xff")


def test_the_first_block_is_as_published() -> None:
    block = to_uf2([Segment(0x1000_0000, b"\1" * 256)], RP2040)
    assert block[:4] == b"UF2\n"
    assert block[4:8] == bytes.fromhex("57515d9e")
    assert block[8:32] == b"".join(
        value.to_bytes(4, "little") for value in (0x2000, 0x1000_0000, 256, 0, 1, RP2040)
    )
    assert block[-4:] == bytes.fromhex("306fb10a")


@pytest.mark.parametrize("at", [0, 4, 20, 24, 508])
def test_a_damaged_file_is_refused(at: int) -> None:
    data = bytearray(to_uf2([Segment(0x1000_0000, pattern(300))], RP2040))
    data[at] ^= 1
    with pytest.raises(TinyDeployError, match=r"UF2 block 0 is damaged"):
        from_uf2(bytes(data))
    with pytest.raises(TinyDeployError, match=r"a UF2 file is a multiple of 512 bytes, this has 511"):
        from_uf2(bytes(data[:511]))
    two = to_uf2([Segment(0, b"1")], 1)[:24] + to_uf2([Segment(0, b"1"), Segment(512, b"2")], 1)[24:512]
    other = bytearray(to_uf2([Segment(0, b"1"), Segment(512, b"2")], 1))
    other[512 + 28] = 2
    assert len(two) == 512
    with pytest.raises(TinyDeployError, match=r"a UF2 file for several chips"):
        from_uf2(bytes(other))
