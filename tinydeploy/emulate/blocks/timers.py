"""Models of counters: their time is the number of executed instructions."""

from __future__ import annotations

from tinydeploy.boards import Block
from tinydeploy.emulate.blocks.base import RegisterFile, Wires

_WORD = 0xFFFF_FFFF


class Dwt(RegisterFile):
    """The cycle counter of the DWT unit: one cycle per instruction."""

    CTRL, CYCCNT, LAR = 0x000, 0x004, 0xFB0
    size_bytes = 0x1000

    def __init__(self, block: Block, wires: Wires) -> None:
        self._start = 0
        super().__init__(block, wires)

    def read(self, offset: int) -> int:
        if offset == self.CYCCNT and self.registers.get(self.CTRL, 0) & 1:
            return self.wires.cycles() - self._start & _WORD
        return super().read(offset)

    def write(self, offset: int, size: int, value: int) -> None:
        counted = self.read(self.CYCCNT)
        super().write(offset, size, value)
        if offset == self.CTRL:
            self._start = self.wires.cycles() - counted
            self.registers[self.CYCCNT] = counted
        elif offset == self.CYCCNT:
            self._start = self.wires.cycles() - value


class CmsdkTimer(RegisterFile):
    """Arm CMSDK APB timer, counting down; ``wires.per_tick`` instructions last one tick. No interrupts."""

    CTRL, VALUE, RELOAD = 0x0, 0x4, 0x8

    def __init__(self, block: Block, wires: Wires) -> None:
        self._start = 0
        super().__init__(block, wires)

    def read(self, offset: int) -> int:
        if offset == self.VALUE and self.registers.get(self.CTRL, 0) & 1:
            elapsed = (self.wires.cycles() - self._start) // self.wires.per_tick
            return (self.registers.get(self.VALUE, 0) - elapsed) % (self.registers.get(self.RELOAD, 0) + 1)
        return super().read(offset)

    def write(self, offset: int, size: int, value: int) -> None:
        current = self.read(self.VALUE)
        super().write(offset, size, value)
        if offset in (self.CTRL, self.VALUE):
            self._start = self.wires.cycles()
            self.registers[self.VALUE] = value if offset == self.VALUE else current
