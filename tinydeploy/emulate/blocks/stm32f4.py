"""Clocks and power of the STM32F4: one PLL whose settings lie in PLLCFGR, regulator scales, overdrive."""

from __future__ import annotations

from tinydeploy.emulate.blocks.stm32 import HSI16_HZ, Pll, Pwr, Rcc, Supply

_HZ_PER_WAIT_STATE = 30_000_000  # at 2.7 to 3.6 V


class RccPllcfgr(Rcc):
    """Reset and clock control of the STM32F4 and F7 (RM0090 7, RM0390 6, RM0385 5)."""

    CR, PLLCFGR, CFGR = 0x00, 0x04, 0x08
    reset_values = {CR: 0x0000_0083, PLLCFGR: 0x2400_3010}  # noqa: RUF012
    READY = ((0, 1), (16, 17), (24, 25), (26, 27), (28, 29))  # HSI, HSE, PLL, PLLI2S, PLLSAI
    SOURCES = (0, 16, 24)
    BUSES = {"apb1": 10, "apb2": 13}  # noqa: RUF012
    PLL_INPUT_HZ = (950_000, 2_100_000)
    VCO_HZ = (100_000_000, 432_000_000)

    def source_hz(self, source: int) -> int:
        pll = self.pll()
        return (HSI16_HZ, self.wires.external_hz, pll.output_hz if pll else 0)[source]

    def pll(self) -> Pll | None:
        bits = self.read(self.PLLCFGR)
        source = self.wires.external_hz if bits >> 22 & 1 else HSI16_HZ
        divider, factor, output = bits & 0x3F, bits >> 6 & 0x1FF, 2 * (bits >> 16 & 3) + 2
        if not divider:
            return None
        return Pll(source / divider, source * factor / divider, source * factor // divider // output)


class PwrF40x(Pwr):
    """Power control of the STM32F405 to F417 (RM0090 section 5): two regulator scales."""

    CR, CSR = 0x00, 0x04
    reset_values = {CR: 0x0000_4000}  # noqa: RUF012

    def read(self, offset: int) -> int:
        return 1 << 14 if offset == self.CSR else super().read(offset)

    def supply(self) -> Supply:
        scale_1 = self.read(self.CR) >> 14 & 1
        return Supply(
            "at regulator scale 1" if scale_1 else "at regulator scale 2",
            168_000_000 if scale_1 else 144_000_000,
            _HZ_PER_WAIT_STATE,
            (("apb1", 42_000_000), ("apb2", 84_000_000)),
        )


class PwrOverdrive(Pwr):
    """Power control of the STM32F42x, F43x, F446 and F7: overdrive is ready as soon as it is enabled.

    ``MAX_HZ``: for each value of VOS, scale 3 to 1, the highest core clock without overdrive and with it.
    ``BUS_MAX_HZ``: of apb1, without and with it; apb2 bears twice as much.
    """

    CR1, CSR1 = 0x00, 0x04
    reset_values = {CR1: 0x0000_C000}  # noqa: RUF012
    MAX_HZ: dict[int, tuple[int, int]] = {}  # noqa: RUF012
    BUS_MAX_HZ = (0, 0)

    def read(self, offset: int) -> int:
        if offset == self.CSR1:
            return self.registers.get(self.CR1, 0) & 0x0003_0000 | 0x4000
        return super().read(offset)

    @property
    def overdrive(self) -> bool:
        return self.read(self.CSR1) >> 16 & 3 == 3

    def supply(self) -> Supply:
        vos = max(1, self.read(self.CR1) >> 14 & 3)
        scale = "" if vos == 3 else f"at regulator scale {4 - vos} "
        apb1_hz = self.BUS_MAX_HZ[self.overdrive]
        return Supply(
            f"{scale}with{'' if self.overdrive else 'out'} overdrive",
            self.MAX_HZ[vos][self.overdrive],
            _HZ_PER_WAIT_STATE,
            (("apb1", apb1_hz), ("apb2", 2 * apb1_hz)),
        )


class PwrF446(PwrOverdrive):
    """Power control of the STM32F446 (RM0390 section 5); overdrive is not for scale 3."""

    MAX_HZ = {  # noqa: RUF012
        1: (120_000_000, 120_000_000),
        2: (144_000_000, 168_000_000),
        3: (168_000_000, 180_000_000),
    }
    BUS_MAX_HZ = (42_000_000, 45_000_000)
