"""Clocks, power and flash interface of the STM32G0 (RM0444)."""

from __future__ import annotations

from tinydeploy.emulate.blocks.stm32 import HSI16_HZ, Flash, Pll, Pwr, Rcc, Supply


class RccG0(Rcc):
    """Reset and clock control (RM0444 section 5): one peripheral bus."""

    CR, CFGR, PLLCFGR = 0x00, 0x08, 0x0C
    reset_values = {CR: 0x0000_0500, PLLCFGR: 0x0000_1000}  # noqa: RUF012
    READY = ((8, 10), (16, 17), (24, 25))  # HSI16, HSE, PLL
    SOURCES = (8, 16, 24)
    SW_BITS, AHB = 3, 8
    BUSES = {"apb": 12}  # noqa: RUF012
    PLL_INPUT_HZ = (2_660_000, 16_000_000)
    VCO_HZ = (96_000_000, 344_000_000)
    _PLL_OUTPUT_ON = 1 << 28

    def source_hz(self, source: int) -> int:
        pll = self.pll()
        hsi = HSI16_HZ >> (self.registers.get(self.CR, 0) >> 11 & 7)
        return (hsi, self.wires.external_hz, pll.output_hz if pll else 0)[source]

    def pll(self) -> Pll | None:
        bits = self.read(self.PLLCFGR)
        source = (0, 0, HSI16_HZ, self.wires.external_hz)[bits & 3]
        if not source:
            return None
        divider, factor, output = (bits >> 4 & 7) + 1, bits >> 8 & 0x7F, (bits >> 29 & 7) + 1
        output_hz = source * factor // divider // output if bits & self._PLL_OUTPUT_ON else 0
        return Pll(source / divider, source * factor / divider, output_hz)


class PwrG0(Pwr):
    """Power control (RM0444 section 4): a range is reached at once."""

    CR1, SR2 = 0x00, 0x14
    reset_values = {CR1: 0x0000_0208}  # noqa: RUF012

    def read(self, offset: int) -> int:
        return 0 if offset == self.SR2 else super().read(offset)

    def supply(self) -> Supply:
        if self.read(self.CR1) >> 9 & 3 != 1:
            return Supply("in voltage range 2", 16_000_000, 8_000_000)
        return Supply("in voltage range 1", 64_000_000, 24_000_000)


class FlashG0(Flash):
    """Flash interface (RM0444 section 3)."""

    ACR, LATENCY = 0x00, 7
    reset_values = {ACR: 0x0004_0600}  # noqa: RUF012
