"""Clocks and power of the STM32L4+ (RM0432): MSI after reset, a boost, a supply of its own for port G."""

from __future__ import annotations

from tinydeploy.emulate.blocks.stm32 import HSI16_HZ, Pll, Pwr, Rcc, Supply

_MSI_HZ = (
    *(100_000, 200_000, 400_000, 800_000),
    *(1_000_000, 2_000_000, 4_000_000, 8_000_000, 16_000_000, 24_000_000, 32_000_000, 48_000_000),
)
_MSI_AFTER_RESET_HZ = 4_000_000
_STEP_HZ = 80_000_000


class RccL4(Rcc):
    """Reset and clock control (RM0432 section 6)."""

    CR, CFGR, PLLCFGR = 0x00, 0x08, 0x0C
    reset_values = {CR: 0x0000_0063, PLLCFGR: 0x0000_1000}  # noqa: RUF012
    READY = ((0, 1), (8, 10), (16, 17), (24, 25), (26, 27), (28, 29))  # MSI, HSI, HSE, PLL, PLLSAI1, PLLSAI2
    SOURCES = (0, 8, 16, 24)
    BUSES = {"apb1": 8, "apb2": 11}  # noqa: RUF012
    PLL_INPUT_HZ = (2_660_000, 16_000_000)
    VCO_HZ = (64_000_000, 344_000_000)
    _RANGE_FROM_CR, _PLL_OUTPUT_ON = 1 << 3, 1 << 24

    def write(self, offset: int, size: int, value: int) -> None:
        """A clock above 80 MHz is reached through AHB / 2 (RM0432, system clock selection)."""
        before_hz = self.clock_hz(None)
        super().write(offset, size, value)
        after_hz = self.clock_hz(None)
        switched = offset == self.CFGR and self._selected() == 3 and after_hz > _STEP_HZ
        if switched and before_hz < after_hz // 2:
            self.wires.fail(f"the core's clock rises to {after_hz} Hz in one step, not by way of half of it")

    def source_hz(self, source: int) -> int:
        pll = self.pll()
        return (self._msi_hz(), HSI16_HZ, self.wires.external_hz, pll.output_hz if pll else 0)[source]

    def pll(self) -> Pll | None:
        bits = self.read(self.PLLCFGR)
        source = (0, self._msi_hz(), HSI16_HZ, self.wires.external_hz)[bits & 3]
        if not source:
            return None
        divider, factor, output = (bits >> 4 & 15) + 1, bits >> 8 & 0x7F, 2 * (bits >> 25 & 3) + 2
        output_hz = source * factor // divider // output if bits & self._PLL_OUTPUT_ON else 0
        return Pll(source / divider, source * factor / divider, output_hz)

    def _msi_hz(self) -> int:
        control = self.registers.get(self.CR, 0)
        code = control >> 4 & 15
        chosen = control & self._RANGE_FROM_CR and code < len(_MSI_HZ)
        return _MSI_HZ[code] if chosen else _MSI_AFTER_RESET_HZ


class PwrL4(Pwr):
    """Power control (RM0432 section 5): a range is reached at once."""

    CR1, CR2, SR2, CR5 = 0x00, 0x04, 0x14, 0x80
    reset_values = {CR1: 0x0000_0200, CR5: 0x0000_0100}  # noqa: RUF012
    _IO_SUPPLY_VALID, _NO_BOOST = 1 << 9, 1 << 8

    def read(self, offset: int) -> int:
        return 0 if offset == self.SR2 else super().read(offset)

    def supply(self) -> Supply:
        if self.read(self.CR1) >> 9 & 3 != 1:
            return Supply("in voltage range 2", 26_000_000, 8_000_000)
        if self.read(self.CR5) & self._NO_BOOST:
            return Supply("without boost", 80_000_000, 20_000_000)
        return Supply("in range 1 with boost", 120_000_000, 20_000_000)

    def has_supply(self, port: str, pin: int) -> bool:
        """PG2 to PG15 have a supply of their own, VDDIO2, which software must declare valid."""
        return port != "gpiog" or pin < 2 or bool(self.read(self.CR2) & self._IO_SUPPLY_VALID)
