"""What startup forbids on a Cortex-M7: the stack's fence, and external memory that the chip does not have."""

from __future__ import annotations

import struct

import pytest

from tests.emulated.conftest import Builder
from tinydeploy.boards import load_board
from tinydeploy.emulate import available_emulators, start_emulator
from tinydeploy.firmware import read_image
from tinydeploy.firmware.render import open_eighths
from tinydeploy.rpc import Client

MPU_RNR = 0xE000ED98


def test_only_used_parts_of_the_external_space_are_open() -> None:
    assert open_eighths(load_board("nucleo-f746").chip) == 0b1000_0111
    assert open_eighths(load_board("qemu-m7").chip) == 0b1000_1111, "its memory at 0x60000000"


@pytest.mark.emulated
@pytest.mark.parametrize("compiler", ["gcc", "zig"])
def test_the_regions_are_set(builder: Builder, compiler: str) -> None:
    board = load_board("qemu-m7")
    if "qemu" not in available_emulators(board):
        pytest.skip("the emulator qemu of qemu-m7 is not installed")
    firmware = builder.model("qemu-m7", compiler, "debug")
    stack_low = read_image(firmware.elf).symbols["td_stack_low"]
    with start_emulator(board, firmware.elf, "qemu") as emulator, Client.connect(emulator.uart) as client:
        found = []
        for region in (0, 1):
            client.write_memory(MPU_RNR, struct.pack("<I", region))
            found.append(struct.unpack("<2I", client.read_memory(MPU_RNR + 4, 8)))
    closed, fence = found
    assert closed == (0, 1 << 28 | 0b1000_1111 << 8 | 31 << 1 | 1)
    assert fence == (stack_low | 1, 1 << 28 | 7 << 1 | 1)
