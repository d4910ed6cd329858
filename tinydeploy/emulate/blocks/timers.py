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


class StTimer32(RegisterFile):
    """ST general-purpose timer with 32 bits, counting up (RM0444, TIM2). No interrupts.

    Its clock is its bus's, or twice that where the bus divides the core's clock.
    """

    CR1, EGR, CNT, PSC, ARR = 0x00, 0x14, 0x24, 0x28, 0x2C
    reset_values = {ARR: _WORD}  # noqa: RUF012
    _CEN, _UG = 1, 1

    def __init__(self, block: Block, wires: Wires) -> None:
        self._start = 0
        self._prescaler = 0  # the one in use; PSC waits for an update
        super().__init__(block, wires)

    def reset(self) -> None:
        super().reset()
        self._start = self._prescaler = 0

    def read(self, offset: int) -> int:
        if offset == self.CNT and self.registers.get(self.CR1, 0) & self._CEN:
            ticks = (self.wires.cycles() - self._start) // (self._cycles_per_tick() * (self._prescaler + 1))
            return (self.registers.get(self.CNT, 0) + ticks) % (self.registers.get(self.ARR, 0) + 1)
        return super().read(offset)

    def write(self, offset: int, size: int, value: int) -> None:
        counted = self.read(self.CNT)
        if offset == self.EGR and value & self._UG:
            self._prescaler = self.registers.get(self.PSC, 0) & 0xFFFF
            counted = 0
        elif offset != self.EGR:
            super().write(offset, size, value)
        if offset in (self.CR1, self.EGR, self.CNT):
            self._start = self.wires.cycles()
            self.registers[self.CNT] = value if offset == self.CNT else counted

    def _cycles_per_tick(self) -> int:
        core_hz, bus_hz = self.wires.clock_hz(None), self.wires.clock_hz(self.block.bus)
        return max(1, core_hz // (bus_hz if bus_hz == core_hz else 2 * bus_hz)) if bus_hz else 1
