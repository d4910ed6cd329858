"""Blocks of NXP's i.MX RT1060 (its reference manual): clock tree, LPUART, pins; FlexSPI is the boot ROM's."""

from __future__ import annotations

from tinydeploy.emulate.blocks.base import RegisterFile
from tinydeploy.emulate.blocks.uarts import ReceivingUart, check_baud

_LEFT_BY_ROM_HZ = 396_000_000


class CcmAnalog(RegisterFile):
    """The ARM PLL (chapter CCM, PLL1): locked where it is on."""

    size_bytes = 0x1000
    PLL_ARM = 0x00
    reset_values = {PLL_ARM: 0x0000_2042}  # noqa: RUF012 - as the boot ROM leaves it: 24 MHz x 66 / 2
    _POWERDOWN, _ENABLE, _BYPASS, _LOCK = 1 << 12, 1 << 13, 1 << 16, 1 << 31
    _MULTIPLIERS = range(54, 109)

    def read(self, offset: int) -> int:
        value = super().read(offset)
        return value & ~self._LOCK | (self._LOCK if self._is_locked() else 0) if offset == 0 else value

    def hz(self) -> int:
        """The output, 0 where it has none."""
        if self.registers[self.PLL_ARM] & self._BYPASS:
            return self.wires.external_hz
        multiplier = self.registers[self.PLL_ARM] & 0x7F
        return self.wires.external_hz * multiplier // 2 if self._is_locked() else 0

    def _is_locked(self) -> bool:
        value = self.registers[self.PLL_ARM]
        is_on = value & (self._POWERDOWN | self._ENABLE) == self._ENABLE
        return is_on and value & 0x7F in self._MULTIPLIERS


class Ccm(RegisterFile):
    """Clock controller: dividers and multiplexers take effect at once, so that no handshake is busy."""

    size_bytes = 0x1000
    CACRR, CBCDR, CBCMR, CSCDR1, CDHIPR = 0x10, 0x14, 0x18, 0x24, 0x48
    reset_values = {CACRR: 1, CBCDR: 0x000A_8200, CBCMR: 0x2DAC_8324}  # noqa: RUF012
    _FASTEST_HZ, _FASTEST_IPG_HZ = 528_000_000, 150_000_000  # at the core supply after reset

    def write(self, offset: int, size: int, value: int) -> None:
        if offset == self.CDHIPR:
            return
        super().write(offset, size, value)
        core_hz, ipg_hz = self.clock_hz(None), self.clock_hz("ipg")
        if core_hz == 0:
            self.wires.fail("the core runs on a clock that stands still")
        elif core_hz > self._FASTEST_HZ:
            self.wires.fail(f"the core runs at {core_hz} Hz, {self._FASTEST_HZ} is the most")
        elif ipg_hz > self._FASTEST_IPG_HZ:
            self.wires.fail(f"the peripherals run at {ipg_hz} Hz, {self._FASTEST_IPG_HZ} is the most")

    def clock_hz(self, bus: str | None) -> int:
        """Of the core, of ``ipg`` or of the ``uart``s."""
        if bus == "uart":
            root = self.wires.external_hz if self._field(self.CSCDR1, 6, 1) else 80_000_000
            return root // (self._field(self.CSCDR1, 0, 6) + 1)
        core_hz = self._peripheral_root_hz() // (self._field(self.CBCDR, 10, 3) + 1)
        return core_hz // (self._field(self.CBCDR, 8, 2) + 1) if bus == "ipg" else core_hz

    def _peripheral_root_hz(self) -> int:
        if self._field(self.CBCDR, 25, 1):
            from_crystal = self._field(self.CBCMR, 12, 2) == 1
            return self.wires.external_hz // (self._field(self.CBCDR, 27, 3) + 1) if from_crystal else 0
        if self._field(self.CBCMR, 18, 2) != 3:
            return _LEFT_BY_ROM_HZ
        analog = self.wires.find(CcmAnalog)
        return analog.hz() // (self._field(self.CACRR, 0, 3) + 1) if analog is not None else 0

    def _field(self, register: int, low: int, bits: int) -> int:
        return self.registers.get(register, 0) >> low & (1 << bits) - 1


class Lpuart(ReceivingUart):
    """NXP LPUART, its FIFOs unlimited: an emulated line has no overruns."""

    size_bytes = 0x1000
    BAUD, STAT, CTRL, DATA = 0x10, 0x14, 0x18, 0x1C
    reset_values = {BAUD: 0x0F00_0004}  # noqa: RUF012
    _RDRF, _TC, _TDRE = 1 << 21, 1 << 22, 1 << 23
    _RE, _TE, _RIE = 1 << 18, 1 << 19, 1 << 21
    _EMPTY = 1 << 12

    def read(self, offset: int) -> int:
        if offset == self.STAT:
            return self._TC | self._TDRE | (self._RDRF if self._has_byte() else 0)
        if offset == self.DATA:
            value = self._received.popleft() if self._has_byte() else self._EMPTY
            self._update()
            return value
        return super().read(offset)

    def write(self, offset: int, size: int, value: int) -> None:
        if offset == self.DATA:
            if self.registers.get(self.CTRL, 0) & self._TE:
                baud = self.registers[self.BAUD]
                check_baud(self.block, self.wires, ((baud >> 24 & 0x1F) + 1) * (baud & 0x1FFF))
                self.wires.transmit(bytes([value & 0xFF]))
        elif offset != self.STAT:
            super().write(offset, size, value)
        self._update()

    def _has_byte(self) -> bool:
        return bool(self._received) and bool(self.registers.get(self.CTRL, 0) & self._RE)

    def _update(self) -> None:
        self.wires.interrupt(self._has_byte() and bool(self.registers.get(self.CTRL, 0) & self._RIE))


class Gpio(RegisterFile):
    """A port of 32 pins: outputs tell their edges."""

    DR, GDIR, DR_SET, DR_CLEAR = 0x00, 0x04, 0x84, 0x88

    def write(self, offset: int, size: int, value: int) -> None:
        before = self._driven()
        if offset == self.DR_SET:
            self.registers[self.DR] = self.registers.get(self.DR, 0) | value
        elif offset == self.DR_CLEAR:
            self.registers[self.DR] = self.registers.get(self.DR, 0) & ~value
        else:
            super().write(offset, size, value)
        after = self._driven()
        for pin in range(32):
            if (before ^ after) >> pin & 1:
                self.wires.edge(pin, bool(after >> pin & 1))

    def _driven(self) -> int:
        return self.registers.get(self.DR, 0) & self.registers.get(self.GDIR, 0)


class Iomuxc(RegisterFile):
    """Pads: functions and settings read back."""

    size_bytes = 0x1000
