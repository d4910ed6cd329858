"""Clocks, power and flash interface of the STM32F7: real clock initialisation runs, and is checked."""

from __future__ import annotations

from tinydeploy.emulate.blocks.base import RegisterFile

_HSI_HZ = 16_000_000
_HZ_PER_WAIT_STATE = 30_000_000  # at 2.7 to 3.6 V
_HZ_WITHOUT_OVERDRIVE = 180_000_000


class Rcc(RegisterFile):
    """Reset and clock control (RM0385 section 5). Ready bits follow their enables at once."""

    CR, PLLCFGR, CFGR = 0x00, 0x04, 0x08
    reset_values = {CR: 0x0000_0083, PLLCFGR: 0x2400_3010}  # noqa: RUF012

    def read(self, offset: int) -> int:
        value = super().read(offset)
        if offset == self.CR:
            for enable in (0, 16, 24, 26, 28):  # HSI, HSE, PLL, PLLI2S, PLLSAI: ready is the next bit
                ready = 1 << (enable + 1)
                value = value | ready if value >> enable & 1 else value & ~ready
        elif offset == self.CFGR:
            value = (value & ~0xC) | (value & 3) << 2  # SWS follows SW
        return value

    def write(self, offset: int, size: int, value: int) -> None:
        super().write(offset, size, value)
        if offset == self.CFGR:
            self._check()

    def clock_hz(self, bus: str | None) -> int:
        """The clock that the registers ask for: of the core, or of ``apb1`` or ``apb2``."""
        cfgr = self.read(self.CFGR)
        source = (_HSI_HZ, self.wires.external_hz, self._pll_hz())[min(cfgr & 3, 2)]
        core = source >> _ahb_shift(cfgr >> 4 & 15)
        return core >> {"apb1": _apb_shift(cfgr >> 10 & 7), "apb2": _apb_shift(cfgr >> 13 & 7)}.get(
            bus or "", 0
        )

    def _pll_hz(self) -> int:
        pll = self.read(self.PLLCFGR)
        source = self.wires.external_hz if pll >> 22 & 1 else _HSI_HZ
        divider = pll & 0x3F
        return source // divider * (pll >> 6 & 0x1FF) // (2 * (pll >> 16 & 3) + 2) if divider else 0

    def _check(self) -> None:
        """What hardware punishes with wrong instructions: too few wait states, no overdrive (table 5)."""
        core_hz = self.clock_hz(None)
        flash, power = self.wires.find(Flash), self.wires.find(Pwr)
        needed = (core_hz - 1) // _HZ_PER_WAIT_STATE
        if flash is not None and flash.wait_states < needed:
            self.wires.fail(f"flash has {flash.wait_states} wait states, {core_hz} Hz needs {needed}")
        if power is not None and core_hz > _HZ_WITHOUT_OVERDRIVE and not power.overdrive:
            self.wires.fail(f"the core runs at {core_hz} Hz without overdrive")


class Pwr(RegisterFile):
    """Power control (RM0385 section 4): overdrive is ready as soon as it is enabled."""

    CR1, CSR1 = 0x00, 0x04
    reset_values = {CR1: 0x0000_C000}  # noqa: RUF012

    def read(self, offset: int) -> int:
        if offset == self.CSR1:
            return self.registers.get(self.CR1, 0) & 0x0003_0000 | 0x4000
        return super().read(offset)

    @property
    def overdrive(self) -> bool:
        return self.read(self.CSR1) >> 16 & 3 == 3


class Flash(RegisterFile):
    """Flash interface (RM0385 section 3): wait states read back. Programming is not modelled."""

    ACR = 0x00

    @property
    def wait_states(self) -> int:
        return self.read(self.ACR) & 15


def _ahb_shift(code: int) -> int:
    return 0 if code < 8 else (1, 2, 3, 4, 6, 7, 8, 9)[code - 8]


def _apb_shift(code: int) -> int:
    return 0 if code < 4 else code - 3


class Gpio(RegisterFile):
    """GPIO of the STM32 families with MODER: configuration reads back, outputs tell their edges."""

    ODR, BSRR = 0x14, 0x18

    def write(self, offset: int, size: int, value: int) -> None:
        before = self.read(self.ODR)
        if offset == self.BSRR:
            after = before & ~(value >> 16) | value & 0xFFFF
            super().write(self.ODR, 4, after)
        else:
            super().write(offset, size, value)
            after = self.read(self.ODR)
        for pin in range(16):
            if (before ^ after) >> pin & 1:
                self.wires.edge(pin, bool(after >> pin & 1))
