"""The system control space of Cortex-M cores: SysTick, NVIC, fault status, reset."""

from __future__ import annotations

from tinydeploy.boards import Block
from tinydeploy.emulate.blocks.base import RegisterFile, Wires

SYSTICK = 15
PENDSV = 14
HARD_FAULT = 3
FIRST_INTERRUPT = 16
LOWEST_PRIORITY = 256
_WORD = 0xFFFF_FFFF

# CPUID of common revisions (Arm's technical reference manuals).
CPUIDS = {
    "cortex-m0": 0x410C_C200,
    "cortex-m0plus": 0x410C_C601,
    "cortex-m3": 0x411F_C231,
    "cortex-m4": 0x410F_C241,
    "cortex-m7": 0x410F_C271,
    "cortex-m33": 0x410F_D213,
    "cortex-m55": 0x411F_D220,
    "cortex-m85": 0x410F_D230,
}


class Scs(RegisterFile):
    """Exception state beside the registers: pending, enabled, raised by a line, at which priority."""

    size_bytes = 0x1000
    CSR, RVR, CVR = 0x010, 0x014, 0x018
    ISER, ICER, ISPR, ICPR, IPR = 0x100, 0x180, 0x200, 0x280, 0x400
    CPUID, ICSR, VTOR, AIRCR, SHPR = 0xD00, 0xD04, 0xD08, 0xD0C, 0xD18
    CFSR, HFSR, BFAR, CCSIDR = 0xD28, 0xD2C, 0xD38, 0xD80
    reset_values = {CCSIDR: 0xF003_E019, 0xD14: 0x200, 0xF34: 0xC000_0000}  # noqa: RUF012

    def __init__(self, block: Block, wires: Wires) -> None:
        self.reset_requested = False
        self._lines: dict[int, bool] = {}
        self._pending: set[int] = set()
        self._enabled: set[int] = set()
        self._priorities: dict[int, int] = {}
        self._tick_start = 0
        self._cpuid = 0
        super().__init__(block, wires)

    def reset(self) -> None:
        super().reset()
        self.reset_requested = False
        self._pending.clear()
        self._enabled.clear()
        self._priorities.clear()

    def set_core(self, cpu: str) -> None:
        """Say what CPUID tells: the core of that key of the compilers' table."""
        self._cpuid = CPUIDS[cpu]

    def set_line(self, exception: int, level: bool) -> None:
        """A block raises or lowers its interrupt line; a raised line stays pending."""
        self._lines[exception] = level
        if level:
            self.wires.attention()

    def priority(self, exception: int) -> int:
        """Negative for the fixed ones; lower wins."""
        return {1: -3, 2: -2, 3: -1}.get(exception, self._priorities.get(exception, 0))

    def next_exception(self, below: int) -> int | None:
        """The most urgent pending exception whose priority is below that number."""
        self._update_tick()
        ready = {number for number, level in self._lines.items() if level} | self._pending
        ready = {number for number in ready if number < FIRST_INTERRUPT or number in self._enabled}
        best = min(ready, key=lambda number: (self.priority(number), number), default=None)
        return best if best is not None and self.priority(best) < below else None

    def taken(self, exception: int) -> None:
        self._pending.discard(exception)

    def tick_deadline(self) -> int | None:
        """The time at which SysTick next interrupts, or None."""
        if self.registers.get(self.CSR, 0) & 3 != 3:
            return None
        return self._tick_start + self._period()

    def read(self, offset: int) -> int:
        if offset == self.CVR:
            elapsed = self.wires.cycles() - self._tick_start
            return self._period() - 1 - elapsed % self._period() if self.registers.get(self.CSR, 0) & 1 else 0
        if offset == self.CPUID:
            return self._cpuid
        if self.ISER <= offset < self.ISER + 0x40 or self.ICER <= offset < self.ICER + 0x40:
            return self._bits(self._enabled, offset & 0x3F)
        if self.ISPR <= offset < self.ISPR + 0x40 or self.ICPR <= offset < self.ICPR + 0x40:
            return self._bits(self._pending, offset & 0x3F)
        return super().read(offset)

    def write(self, offset: int, size: int, value: int) -> None:
        if offset in (self.CSR, self.RVR, self.CVR):
            self._write_tick(offset, value)
        elif self.ISER <= offset < self.ISER + 0x40:
            self._enabled |= _numbers(value, offset & 0x3F)
        elif self.ICER <= offset < self.ICER + 0x40:
            self._enabled -= _numbers(value, offset & 0x3F)
        elif self.ISPR <= offset < self.ISPR + 0x40:
            self._pending |= _numbers(value, offset & 0x3F)
        elif self.ICPR <= offset < self.ICPR + 0x40:
            self._pending -= _numbers(value, offset & 0x3F)
        elif self.IPR <= offset < self.IPR + 0x1F0:
            self._set_priorities(FIRST_INTERRUPT + offset - self.IPR, size, value)
        elif self.SHPR <= offset < self.SHPR + 12:
            self._set_priorities(4 + offset - self.SHPR, size, value)
        elif offset == self.ICSR:
            self._pending |= {PENDSV} if value >> 28 & 1 else set()
            self._pending |= {SYSTICK} if value >> 26 & 1 else set()
        elif offset == self.AIRCR:
            self.reset_requested = self.reset_requested or value & 0xFFFF_0004 == 0x05FA_0004
        elif offset in (self.CFSR, self.HFSR):
            self.registers[offset] = self.read(offset) & ~value
        elif offset not in (self.CPUID, self.CCSIDR):
            super().write(offset, size, value)
        self.wires.attention()

    def _write_tick(self, offset: int, value: int) -> None:
        if offset == self.CVR or (
            offset == self.CSR and value & 1 and not self.registers.get(self.CSR, 0) & 1
        ):
            self._tick_start = self.wires.cycles()
        if offset != self.CVR:
            self.registers[offset] = value

    def _update_tick(self) -> None:
        deadline = self.tick_deadline()
        if deadline is not None and self.wires.cycles() >= deadline:
            self._tick_start += (self.wires.cycles() - self._tick_start) // self._period() * self._period()
            self._pending.add(SYSTICK)

    def _period(self) -> int:
        return (self.registers.get(self.RVR, 0) & 0xFF_FFFF) + 1

    def _set_priorities(self, first: int, size: int, value: int) -> None:
        for index in range(size):
            self._priorities[first + index] = value >> 8 * index & 0xFF

    @staticmethod
    def _bits(numbers: set[int], register: int) -> int:
        first = FIRST_INTERRUPT + register * 8
        return sum(1 << number - first for number in numbers if first <= number < first + 32)


def _numbers(value: int, register: int) -> set[int]:
    """The exception numbers of a word's set bits; ``register`` is the offset in the group."""
    return {FIRST_INTERRUPT + register * 8 + bit for bit in range(32) if value >> bit & 1}
