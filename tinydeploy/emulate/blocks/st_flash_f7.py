"""Flash programming of the STM32F74x and F75x (RM0385 section 3): keys, sectors, bits that only fall.

A probe programs it through ``program``, and so does firmware with its own stores.
"""

from __future__ import annotations

import ctypes
import random
from typing import Any

from tinydeploy.boards import Block, Region
from tinydeploy.emulate.blocks.base import Wires
from tinydeploy.emulate.blocks.scs import Scs
from tinydeploy.emulate.blocks.stm32 import Flash

_KEYS = (0x4567_0123, 0xCDEF_89AB)
_KIB = 1024
_LOCK, _START = 1 << 31, 1 << 16
_PROGRAM, _ERASE_SECTOR, _ERASE_ALL = 1, 2, 4
_BUSY = 1 << 16
_SIZE_ERROR = 1 << 6  # PGPERR: an access of another size than the register says
_PROGRAM_ERROR = 1 << 7  # PGSERR: programmed without having been asked to
_ERASED = 0xFF
_BUSY_READS = 2


class ProgrammableFlash(Flash):
    """The flash interface with its memory. ``program`` is called before the core or a probe writes there.

    Sectors are 4 of 32 KiB, one of 128 KiB and then 256 KiB. For tests: ``operations`` counts erasures and
    accesses; within number ``cut_at`` of them the power fails and the chip restarts, with cells that are
    somewhere between old and new. ``stuck``: what is under way never ends.
    """

    KEYR, SR, CR, OPTCR = 0x04, 0x0C, 0x10, 0x14
    reset_values = {CR: _LOCK, OPTCR: 0xC0FF_AAFD}  # noqa: RUF012

    def __init__(self, block: Block, wires: Wires, region: Region, memory: ctypes.Array[Any]) -> None:
        self.operations = 0
        self.cut_at: int | None = None
        self.stuck = False
        self._region = region
        self._memory = memory
        self._keys: tuple[int, ...] = ()
        self._busy = 0
        self._without_power = False
        super().__init__(block, wires)

    def reset(self) -> None:
        super().reset()
        self._keys = ()
        self._busy = 0
        self._without_power = False

    @property
    def is_programming(self) -> bool:
        """Whether a store to the memory is meant to program it."""
        return bool(self.read(self.CR) & _PROGRAM)

    def read(self, offset: int) -> int:
        value = super().read(offset)
        if offset == self.SR and (self._busy or self.stuck):
            self._busy = max(self._busy - 1, 0)
            return value | _BUSY
        return value

    def write(self, offset: int, size: int, value: int) -> None:
        if offset == self.KEYR:
            self._keys = (*self._keys, value)[-2:]
            if self._keys == _KEYS:
                self.registers[self.CR] = self.read(self.CR) & ~_LOCK
        elif offset == self.SR:
            self.registers[self.SR] = super().read(self.SR) & ~value
        elif offset == self.CR and not self.read(self.CR) & _LOCK:
            self.registers[self.CR] = value & ~_START
            if value & _START:
                self._erase(value)
        elif offset not in (self.CR, self.OPTCR):  # option bytes are never written
            super().write(offset, size, value)

    def program(self, offset: int, size: int, value: int) -> int:
        """The value that the cells take, byte by byte the old one and the new."""
        old = int.from_bytes(self._memory[offset : offset + size], "little")
        if not self.is_programming:
            self._fault(_PROGRAM_ERROR)
            return old
        if size != 1 << (self.read(self.CR) >> 8 & 3):
            self._fault(_SIZE_ERROR)
            return old
        if self._without_power:
            return old
        if self._begin():
            return old & (value | self._noise(size))
        return old & value

    def store(self, offset: int, size: int, value: int) -> None:
        """What the core's own store does to the memory."""
        cells = self.program(offset, size, value & (1 << 8 * size) - 1)
        self._put(offset, cells.to_bytes(size, "little"))

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
        if self._without_power:
            return
        if self._begin():
            old = int.from_bytes(self._memory[first:last], "little")
            torn = old | self._noise(last - first)
            self._put(first, torn.to_bytes(last - first, "little"))
        else:
            ctypes.memset(ctypes.addressof(self._memory) + first, _ERASED, last - first)

    def _begin(self) -> bool:
        """An operation begins, after the one under way: the bus stalls until then (RM0385 section 3.3.5).

        True where the power fails before it ends.
        """
        self.operations += 1
        self._busy = _BUSY_READS
        if self.operations != self.cut_at:
            return False
        self._without_power = True
        system = self.wires.find(Scs)
        system.reset_requested = True
        self.wires.attention()
        return True

    def _noise(self, size: int) -> int:
        """The bits that a cut operation has not reached, or has."""
        return random.Random(self.operations).getrandbits(8 * size)

    def _put(self, offset: int, data: bytes) -> None:
        ctypes.memmove(ctypes.addressof(self._memory) + offset, data, len(data))

    def _fault(self, flag: int) -> None:
        self.registers[self.SR] = super().read(self.SR) | flag
