"""Clocks and power of the STM32U5 (RM0456): four voltage ranges, a booster that PLL1's source feeds."""

from __future__ import annotations

from tinydeploy.emulate.blocks.base import RegisterFile
from tinydeploy.emulate.blocks.stm32 import HSI16_HZ, Pll, Pwr, Rcc, Supply, ahb_shift, apb_shift

_MSIS_AFTER_RESET_HZ = 4_000_000
_BOOSTER_HZ = (4_000_000, 16_000_000)
_BOOSTER_DIVIDERS = (1, 2, 4, 6, 8, 10, 12, 14, 16)


class RccU5(Rcc):
    """Reset and clock control (RM0456 section 11)."""

    CR, CFGR, CFGR2, CFGR3, PLLCFGR, PLL1DIVR = 0x00, 0x1C, 0x20, 0x24, 0x28, 0x34
    AHB3ENR = 0x94
    reset_values = {CR: 0x0000_0011, PLL1DIVR: 0x0101_0280}  # noqa: RUF012
    READY = ((0, 2), (4, 5), (8, 10), (12, 13), (16, 17), (24, 25), (26, 27), (28, 29))
    SOURCES = (0, 8, 16, 24)
    DIVIDERS = {"apb1": (CFGR2, 4), "apb2": (CFGR2, 8), "apb3": (CFGR3, 4)}  # noqa: RUF012
    PLL_INPUT_HZ = (4_000_000, 16_000_000)
    VCO_HZ = (128_000_000, 544_000_000)
    _OUTPUT_ON, _POWER_CLOCK = 1 << 18, 1 << 2

    def write(self, offset: int, size: int, value: int) -> None:
        changed = value ^ self.registers.get(offset, 0)
        if offset == self.PLL1DIVR and changed and self._is_on(self.PLL_ON):
            self.wires.fail(f"{self.block.name}: the PLL is changed while it runs")
        super().write(offset, size, value)
        if offset in (self.CFGR2, self.CFGR3):
            self.check()

    def clock_hz(self, bus: str | None) -> int:
        core = self.source_hz(self._selected()) >> ahb_shift(self.registers.get(self.CFGR2, 0) & 15)
        if bus not in self.DIVIDERS:
            return core
        register, place = self.DIVIDERS[bus]
        return core >> apb_shift(self.registers.get(register, 0) >> place & 7)

    def source_hz(self, source: int) -> int:
        pll = self.pll()
        return (_MSIS_AFTER_RESET_HZ, HSI16_HZ, self.wires.external_hz, pll.output_hz if pll else 0)[source]

    def pll(self) -> Pll | None:
        bits, dividers = self.read(self.PLLCFGR), self.read(self.PLL1DIVR)
        source = self._pll_source_hz()
        if not source:
            return None
        divider, factor, output = (bits >> 8 & 15) + 1, (dividers & 0x1FF) + 1, (dividers >> 24 & 0x7F) + 1
        output_hz = source * factor // divider // output if bits & self._OUTPUT_ON else 0
        return Pll(source / divider, source * factor / divider, output_hz)

    def booster_hz(self) -> float:
        """The clock of the booster; 0 where it has none."""
        code = self.read(self.PLLCFGR) >> 12 & 15
        return self._pll_source_hz() / _BOOSTER_DIVIDERS[code] if code < len(_BOOSTER_DIVIDERS) else 0

    def has_power_clock(self) -> bool:
        return bool(self.registers.get(self.AHB3ENR, 0) & self._POWER_CLOCK)

    def _pll_source_hz(self) -> int:
        source = self.read(self.PLLCFGR) & 3
        if source == 0 or not self._is_on(self.SOURCES[source - 1]):
            return 0
        return (0, _MSIS_AFTER_RESET_HZ, HSI16_HZ, self.wires.external_hz)[source]


class PwrU5(Pwr):
    """Power control (RM0456 section 10): a range is reached at once, the booster where it has a clock."""

    VOSR = 0x0C
    _READY, _BOOSTER_READY, _BOOSTER_ON = 1 << 15, 1 << 14, 1 << 18
    # For each value of VOS, range 4 to 1: the highest core clock without and with booster, per wait state.
    _RANGES = (
        (25_000_000, 25_000_000, 12_500_000),
        (55_000_000, 55_000_000, 24_000_000),
        (55_000_000, 110_000_000, 30_000_000),
        (55_000_000, 160_000_000, 32_000_000),
    )

    def read(self, offset: int) -> int:
        value = super().read(offset)
        if offset != self.VOSR:
            return value
        ready = self._READY | (self._BOOSTER_READY if self._is_boosted() else 0)
        return value & ~(self._READY | self._BOOSTER_READY) | ready

    def write(self, offset: int, size: int, value: int) -> None:
        rcc = self.wires.find(RccU5)
        if rcc is not None and not rcc.has_power_clock():
            self.wires.fail(f"{self.block.name} is written without its clock")
        super().write(offset, size, value)

    def supply(self) -> Supply:
        vos = self.registers.get(self.VOSR, 0) >> 16 & 3
        plain_hz, boosted_hz, hz_per_wait_state = self._RANGES[vos]
        boosted = self._is_boosted()
        words = f"in voltage range {4 - vos} with{'' if boosted else 'out'} booster"
        return Supply(words, boosted_hz if boosted else plain_hz, hz_per_wait_state)

    def _is_boosted(self) -> bool:
        rcc = self.wires.find(RccU5)
        low, high = _BOOSTER_HZ
        has_clock = rcc is None or low <= rcc.booster_hz() <= high
        return has_clock and bool(self.registers.get(self.VOSR, 0) & self._BOOSTER_ON)


class Icache(RegisterFile):
    """The cache of the flash (RM0456 section 8): nothing to see but its registers."""
