"""Flash programming of the STM32F74x and F75x (RM0385 section 3): keys, sectors, bits that only fall."""

from __future__ import annotations

import ctypes
from typing import Any

from tinydeploy.boards import Block, Region
from tinydeploy.emulate.blocks import Flash, Wires

DEVICE_ID = 0x1001_6449
DEVICE_ID_AT = 0xE004_2000
FLASH_KIB_AT = 0x1FF0_F442
CORE_TAP = 0x5BA0_0477
BOUNDARY_TAP = 0x0644_9041
BOUNDARY_IR_BITS = 5

_KEYS = (0x4567_0123, 0xCDEF_89AB)
_KIB = 1024
_LOCK, _START = 1 << 31, 1 << 16
_PROGRAM, _ERASE_SECTOR, _ERASE_ALL = 1, 2, 4
_PROGRAM_ERROR = 1 << 7  # PGSERR: programmed without having been asked to
_ERASED = 0xFF


class ProgrammableFlash(Flash):
    """The flash interface with its memory. ``program`` is called before the core or a probe writes there.

    Sectors are 4 of 32 KiB, one of 128 KiB and then 256 KiB.
    """

    KEYR, SR, CR, OPTCR = 0x04, 0x0C, 0x10, 0x14
    reset_values = {CR: _LOCK, OPTCR: 0xC0FF_AAFD}  # noqa: RUF012

    def __init__(self, block: Block, wires: Wires, region: Region, memory: ctypes.Array[Any]) -> None:
        self._region = region
        self._memory = memory
        self._keys: tuple[int, ...] = ()
        super().__init__(block, wires)

    def write(self, offset: int, size: int, value: int) -> None:
        if offset == self.KEYR:
            self._keys = (*self._keys, value)[-2:]
            if self._keys == _KEYS:
                self.registers[self.CR] = self.read(self.CR) & ~_LOCK
        elif offset == self.SR:
            self.registers[self.SR] = self.read(self.SR) & ~value
        elif offset == self.CR and not self.read(self.CR) & _LOCK:
            self.registers[self.CR] = value & ~_START
            if value & _START:
                self._erase(value)
        elif offset not in (self.CR, self.OPTCR):  # option bytes are never written
            super().write(offset, size, value)

    def program(self, offset: int, size: int, value: int) -> int:
        """The value that the cells take, byte by byte the old one and the new."""
        old = int.from_bytes(self._memory[offset : offset + size], "little")
        if not self.read(self.CR) & _PROGRAM:
            self.registers[self.SR] = self.read(self.SR) | _PROGRAM_ERROR
            return old
        return old & value

    def sectors(self) -> list[tuple[int, int]]:
        """Start and end of every sector, from the beginning of the flash."""
        found: list[tuple[int, int]] = []
        at = 0
        while at < self._region.size:
            size = (32 if len(found) < 4 else 128 if len(found) == 4 else 256) * _KIB
            found.append((at, at + size))
            at += size
        return found

    def _erase(self, control: int) -> None:
        sectors = self.sectors()
        if control & _ERASE_ALL:
            first, last = 0, self._region.size
        elif control & _ERASE_SECTOR and control >> 3 & 15 < len(sectors):
            first, last = sectors[control >> 3 & 15]
        else:
            return
        ctypes.memset(ctypes.addressof(self._memory) + first, _ERASED, last - first)
