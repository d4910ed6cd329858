"""Blocks of RP2040 and RP2350: resets, oscillator, PLL, clock generators, tick, timer, pins.

Sections are those of the RP2040 datasheet; the RP2350 differs in what its subclasses say.
"""

from __future__ import annotations

from tinydeploy.emulate.blocks.base import RegisterFile

_WORD = 0xFFFF_FFFF


class Resets(RegisterFile):
    """Subsystem resets (2.14): all blocks are in reset until their bit is cleared."""

    RESET, RESET_DONE = 0x0, 0x8
    ALL, PLL_SYS, TIMER = 0x01FF_FFFF, 12, 21

    def reset(self) -> None:
        self.registers = {self.RESET: self.ALL}

    def read(self, offset: int) -> int:
        if offset == self.RESET_DONE:
            return ~self.registers[self.RESET] & self.ALL
        return super().read(offset)

    def is_out(self, bit: int) -> bool:
        """Whether the block of that bit is out of reset."""
        return bool(self.read(self.RESET_DONE) >> bit & 1)


class Resets2350(Resets):
    """RP2350 datasheet 7.5."""

    ALL, PLL_SYS, TIMER = 0x1FFF_FFFF, 14, 23


class Xosc(RegisterFile):
    """Crystal oscillator (2.16): stable at once, where it is told the range of the board's crystal."""

    CTRL, STATUS = 0x00, 0x04
    _ENABLE, _RANGE = 0xFAB, 0xAA0
    _STABLE = 1 << 31

    def read(self, offset: int) -> int:
        if offset == self.STATUS:
            return self._STABLE if self.is_on else 0
        return super().read(offset)

    @property
    def is_on(self) -> bool:
        return self.registers.get(self.CTRL, 0) & 0xFF_FFFF == self._ENABLE << 12 | self._RANGE


class Pll(RegisterFile):
    """A PLL (2.18). It locks where its VCO is on and within what the datasheet allows."""

    CS, PWR, FBDIV, PRIM = 0x0, 0x4, 0x8, 0xC
    reset_values = {CS: 1, PWR: 0x2D, PRIM: 0x0007_7000}  # noqa: RUF012
    _LOCK = 1 << 31
    _PD, _POSTDIVPD, _VCOPD = 1 << 0, 1 << 3, 1 << 5
    _VCO_HZ = range(750_000_000, 1_600_000_001)

    def read(self, offset: int) -> int:
        if offset == self.CS:
            return super().read(offset) & ~self._LOCK | (self._LOCK if self._vco_hz() in self._VCO_HZ else 0)
        return super().read(offset)

    def hz(self) -> int:
        """The rate behind the post dividers; 0 while it is off."""
        if self.registers[self.PWR] & self._POSTDIVPD or self._vco_hz() not in self._VCO_HZ:
            return 0
        prim = self.registers[self.PRIM]
        dividers = (prim >> 16 & 7) * (prim >> 12 & 7)
        return self._vco_hz() // dividers if dividers else 0

    def _vco_hz(self) -> int:
        xosc, resets = self.wires.find(Xosc), self.wires.find(Resets)
        is_off = self.registers[self.PWR] & (self._PD | self._VCOPD)
        if is_off or xosc is None or not xosc.is_on or not resets.is_out(resets.PLL_SYS):
            return 0
        reference = self.wires.external_hz // max(1, self.registers[self.CS] & 0x3F)
        return reference * (self.registers.get(self.FBDIV, 0) & 0xFFF)


class Clocks(RegisterFile):
    """Clock generators (2.15): of the reference, the system and the peripherals."""

    REF_CTRL, REF_SELECTED = 0x30, 0x38
    SYS_CTRL, SYS_DIV, SYS_SELECTED = 0x3C, 0x40, 0x44
    PERI_CTRL = 0x48
    FASTEST_HZ, DIVIDER_SHIFT = 133_000_000, 8
    ROSC_HZ = 6_500_000  # about: each chip has its own
    _PERI_ENABLE = 1 << 11

    def reset(self) -> None:
        self.registers = {self.SYS_DIV: 1 << self.DIVIDER_SHIFT}

    def read(self, offset: int) -> int:
        if offset == self.REF_SELECTED:
            return 1 << (self.registers.get(self.REF_CTRL, 0) & 3)
        if offset == self.SYS_SELECTED:
            return 1 << (self.registers.get(self.SYS_CTRL, 0) & 1)
        return super().read(offset)

    def write(self, offset: int, size: int, value: int) -> None:
        super().write(offset, size, value)
        if offset in (self.REF_CTRL, self.SYS_CTRL, self.SYS_DIV):
            core_hz = self.clock_hz(None)
            if core_hz == 0:
                self.wires.fail("the core runs on a clock that stands still")
            elif core_hz > self.FASTEST_HZ:
                self.wires.fail(f"the core runs at {core_hz} Hz, {self.FASTEST_HZ} is the most")

    def clock_hz(self, bus: str | None) -> int:
        """Of the core, of ``ref`` or of ``peri``; what nobody switched on has 0."""
        if bus == "ref":
            return self._reference_hz()
        if bus == "peri":
            peri = self.registers.get(self.PERI_CTRL, 0)
            return self._system_hz() if peri & self._PERI_ENABLE and not peri >> 5 & 7 else 0
        return self._system_hz()

    def _reference_hz(self) -> int:
        source = self.registers.get(self.REF_CTRL, 0) & 3
        if source == 2:
            xosc = self.wires.find(Xosc)
            return self.wires.external_hz if xosc is not None and xosc.is_on else 0
        return self.ROSC_HZ if source == 0 else 0

    def _system_hz(self) -> int:
        control = self.registers.get(self.SYS_CTRL, 0)
        source = self._reference_hz()
        if control & 1:
            pll = self.wires.find(Pll)
            source = pll.hz() if pll is not None and not control >> 5 & 7 else 0
        divider = self.registers[self.SYS_DIV] >> self.DIVIDER_SHIFT
        return source // divider if divider else 0


class Clocks2350(Clocks):
    """RP2350 datasheet 8.1: faster, and dividers with 16 bits of fraction."""

    FASTEST_HZ, DIVIDER_SHIFT = 150_000_000, 16
    ROSC_HZ = 11_000_000


class Watchdog(RegisterFile):
    """The tick generator of the watchdog (4.7.2); the watchdog itself is not modelled."""

    TICK = 0x2C
    reset_values = {TICK: 0x200}  # noqa: RUF012

    @property
    def periods(self) -> int:
        """Of clk_ref in a tick; 0: there are none."""
        tick = self.registers[self.TICK]
        return tick & 0x1FF if tick >> 9 & 1 else 0


class Timer(RegisterFile):
    """The timer (4.6), which counts the watchdog's ticks. No alarms."""

    TIMELR, TIMERAWH, TIMERAWL = 0x0C, 0x24, 0x28

    def read(self, offset: int) -> int:
        if offset in (self.TIMERAWL, self.TIMELR):
            return self._ticks() & _WORD
        if offset == self.TIMERAWH:
            return self._ticks() >> 32
        return super().read(offset)

    def _ticks(self) -> int:
        """As if the clocks had always been the present ones: differences are what firmware uses."""
        watchdog, resets = self.wires.find(Watchdog), self.wires.find(Resets)
        core_hz = self.wires.clock_hz(None)
        if watchdog is None or not watchdog.periods or not resets.is_out(resets.TIMER) or not core_hz:
            return 0
        reference = self.wires.cycles() * self.wires.clock_hz("ref") // core_hz
        return int(reference // watchdog.periods)


class Gpio(RegisterFile):
    """IO_BANK0 (2.19): which block drives a pin."""

    SIO = 5

    def function(self, pin: int) -> int:
        return self.registers.get(8 * pin + 4, 0x1F) & 0x1F


class Sio(RegisterFile):
    """The GPIO registers of SIO (2.3.1): what firmware drives, and the edges of it."""

    OUT, OE = 0x10, 0x20
    STRIDE = 4  # from a register to the one that sets its bits, and to the one that clears them
    _PINS = 30

    def write(self, offset: int, size: int, value: int) -> None:
        before = self._driven()
        sets, clears = offset - self.STRIDE, offset - 2 * self.STRIDE
        if sets in (self.OUT, self.OE):
            self.registers[sets] = self.registers.get(sets, 0) | value
        elif clears in (self.OUT, self.OE):
            self.registers[clears] = self.registers.get(clears, 0) & ~value
        else:
            super().write(offset, size, value)
        after = self._driven()
        for pin in range(self._PINS):
            if (before ^ after) >> pin & 1:
                self._edge(pin, bool(after >> pin & 1))

    def _driven(self) -> int:
        return self.registers.get(self.OUT, 0) & self.registers.get(self.OE, 0)

    def _edge(self, pin: int, high: bool) -> None:
        """An edge belongs to the pin's port, which is IO_BANK0."""
        gpio = self.wires.find(Gpio)
        if gpio is not None:
            gpio.wires.edge(pin, high)


class Sio2350(Sio):
    """RP2350 datasheet 3.1.11: registers of pins 32 and up lie between."""

    OUT, OE = 0x10, 0x30
    STRIDE = 8


class Pads2350(RegisterFile):
    """PADS_BANK0 of the RP2350 (9.11.3): pads are isolated after reset, until their bit 8 is cleared."""

    _ISOLATED = 1 << 8

    def read(self, offset: int) -> int:
        return self.registers.get(offset, self._ISOLATED)

    def is_isolated(self, pin: int) -> bool:
        return bool(self.read(4 * pin + 4) & self._ISOLATED)
