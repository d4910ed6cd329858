"""Clocks of the STM32F100, the value line (RM0041 section 6): its flash needs no wait states."""

from __future__ import annotations

from tinydeploy.emulate.blocks.stm32 import Pll, Rcc, Supply

_HSI_HZ = 8_000_000
_MAX_HZ = 24_000_000


class RccF100(Rcc):
    """Reset and clock control: the PLL's settings lie in CFGR, and CFGR2 divides what enters it."""

    CR, CFGR, CFGR2 = 0x00, 0x04, 0x2C
    PLLCFGR = CFGR2
    reset_values = {CR: 0x0000_0083}  # noqa: RUF012
    READY = ((0, 1), (16, 17), (24, 25))  # HSI, HSE, PLL
    SOURCES = (0, 16, 24)
    BUSES = {"apb1": 8, "apb2": 11}  # noqa: RUF012
    PLL_INPUT_HZ = (1_000_000, 24_000_000)
    VCO_HZ = (16_000_000, 24_000_000)
    _PLL_BITS = 0x003F_0000

    def write(self, offset: int, size: int, value: int) -> None:
        changed = (value ^ self.registers.get(offset, 0)) & self._PLL_BITS
        if offset == self.CFGR and changed and self._is_on(self.PLL_ON):
            self.wires.fail(f"{self.block.name}: the PLL is changed while it runs")
        super().write(offset, size, value)

    def source_hz(self, source: int) -> int:
        return (_HSI_HZ, self.wires.external_hz, self.pll().output_hz)[source]

    def pll(self) -> Pll:
        bits = self.registers.get(self.CFGR, 0)
        divider = (self.registers.get(self.CFGR2, 0) & 15) + 1
        source = self.wires.external_hz // divider if bits >> 16 & 1 else _HSI_HZ // 2
        output_hz = source * min((bits >> 18 & 15) + 2, 16)
        return Pll(source, output_hz, output_hz)

    def supply(self) -> Supply:
        return Supply("of 24 MHz at most", _MAX_HZ, _MAX_HZ)
