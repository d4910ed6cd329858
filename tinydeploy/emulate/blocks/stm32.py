"""What the clocks, supplies and flash interfaces of STM32 families have in common, and their GPIO ports.

Real clock initialisation runs, and is checked: what hardware would punish with wrong instructions, or with no
clock at all, ends the emulation with a message.
"""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.emulate.blocks.base import RegisterFile

HSI16_HZ = 16_000_000


@dataclass(frozen=True, slots=True)
class Supply:
    """What the core's voltage allows.

    ``max_hz``: the highest core clock, ``words`` say why it is not higher. ``hz_per_wait_state``: the highest
    core clock without wait states of the flash; each one adds as much. ``bus_max_hz``: what the peripheral
    buses bear.
    """

    words: str
    max_hz: int
    hz_per_wait_state: int
    bus_max_hz: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Pll:
    """The main PLL as its registers ask for it: the clocks before, in and behind its oscillator, in Hz."""

    input_hz: float
    vco_hz: float
    output_hz: int


class Rcc(RegisterFile):
    """Reset and clock control. Ready bits follow their enables at once.

    A family says where its registers and bits are. ``READY``: enable bits of CR and the bits that answer;
    ``SOURCES``: for each value of SW the enable bit of that clock; ``AHB`` and ``BUSES``: the place of their
    prescalers in CFGR; ``PLL_INPUT_HZ`` and ``VCO_HZ``: the ranges in which the PLL locks.
    """

    CR, CFGR, PLLCFGR = 0x00, 0x08, 0x0C
    READY: tuple[tuple[int, int], ...] = ()
    SOURCES: tuple[int, ...] = ()
    HSE_ON, PLL_ON = 16, 24
    SW_BITS, AHB = 2, 4
    BUSES: dict[str, int] = {}  # noqa: RUF012 - constant of the class
    PLL_INPUT_HZ = (0, 1 << 32)
    VCO_HZ = (0, 1 << 32)

    def source_hz(self, source: int) -> int:
        """The clock that this value of SW selects, in Hz; 0 for one that there is not."""
        raise NotImplementedError

    def pll(self) -> Pll | None:
        """None where its registers name no source."""
        raise NotImplementedError

    def supply(self) -> Supply | None:
        """What the supply allows now; None where the chip has no model of it."""
        power = self.wires.find(Pwr)
        return None if power is None else power.supply()

    def read(self, offset: int) -> int:
        value = super().read(offset)
        if offset == self.CR:
            for enable, ready in self.READY:
                is_ready = value >> enable & 1 and (enable != self.HSE_ON or self.wires.external_hz)
                value = value | 1 << ready if is_ready else value & ~(1 << ready)
        elif offset == self.CFGR:
            mask = (1 << self.SW_BITS) - 1
            value = value & ~(mask << self.SW_BITS) | self._selected() << self.SW_BITS
        return value

    def write(self, offset: int, size: int, value: int) -> None:
        changed = value ^ self.registers.get(offset, 0)
        if offset == self.PLLCFGR and changed and self._is_on(self.PLL_ON):
            self.wires.fail(f"{self.block.name}: the PLL is changed while it runs")
        super().write(offset, size, value)
        if offset in (self.CR, self.CFGR, self.PLLCFGR):
            self.check()

    def clock_hz(self, bus: str | None) -> int:
        """The clock that the registers ask for, in Hz: of a bus, or of the core for None."""
        cfgr = self.registers.get(self.CFGR, 0)
        core = self.source_hz(self._selected()) >> ahb_shift(cfgr >> self.AHB & 15)
        return core >> apb_shift(cfgr >> self.BUSES[bus] & 7) if bus in self.BUSES else core

    def check(self) -> None:
        """What hardware punishes: a PLL out of range, too few wait states, too low a voltage."""
        core_hz = self.clock_hz(None)
        supply = self.supply()
        flash = self.wires.find(Flash)
        if self._is_on(self.PLL_ON):
            self._check_pll()
        if supply is None:
            return
        needed = (core_hz - 1) // supply.hz_per_wait_state
        if flash is not None and flash.wait_states < needed:
            self.wires.fail(f"flash has {flash.wait_states} wait states, {core_hz} Hz needs {needed}")
        if core_hz > supply.max_hz:
            self.wires.fail(f"the core runs at {core_hz} Hz {supply.words}")
        for bus, max_hz in supply.bus_max_hz:
            if self.clock_hz(bus) > max_hz:
                self.wires.fail(f"{bus} runs at {self.clock_hz(bus)} Hz, at most {max_hz} are allowed")

    def _check_pll(self) -> None:
        pll = self.pll()
        if pll is None:
            self.wires.fail(f"{self.block.name}: the PLL is on without a source")
            return
        for what, hz, (low, high) in (
            ("input", pll.input_hz, self.PLL_INPUT_HZ),
            ("oscillator", pll.vco_hz, self.VCO_HZ),
        ):
            if not low <= hz <= high:
                self.wires.fail(f"the PLL's {what} runs at {hz:.0f} Hz, {low} to {high} are allowed")

    def _selected(self) -> int:
        """What SWS tells: SW, once that clock is on; until then the one that runs after reset."""
        wanted = self.registers.get(self.CFGR, 0) & (1 << self.SW_BITS) - 1
        return wanted if wanted < len(self.SOURCES) and self._is_on(self.SOURCES[wanted]) else 0

    def _is_on(self, enable: int) -> bool:
        return bool(self.registers.get(self.CR, 0) >> enable & 1)


class Pwr(RegisterFile):
    """Power control: the voltage follows at once."""

    def supply(self) -> Supply:
        raise NotImplementedError

    def has_supply(self, port: str, pin: int) -> bool:
        """Whether a pin's drivers have a supply."""
        return True

    def write(self, offset: int, size: int, value: int) -> None:
        super().write(offset, size, value)
        rcc = self.wires.find(Rcc)
        if rcc is not None:
            rcc.check()


class Flash(RegisterFile):
    """Flash interface: wait states read back. Programming is not modelled."""

    ACR = 0x00
    LATENCY = 15

    @property
    def wait_states(self) -> int:
        return self.read(self.ACR) & self.LATENCY

    def write(self, offset: int, size: int, value: int) -> None:
        super().write(offset, size, value)
        rcc = self.wires.find(Rcc)
        if offset == self.ACR and rcc is not None:
            rcc.check()


def ahb_shift(code: int) -> int:
    """How far an AHB prescaler's code shifts the clock."""
    return 0 if code < 8 else (1, 2, 3, 4, 6, 7, 8, 9)[code - 8]


def apb_shift(code: int) -> int:
    """How far an APB prescaler's code shifts the clock."""
    return 0 if code < 4 else code - 3


class _Port(RegisterFile):
    """A GPIO port: configuration reads back, outputs tell their edges."""

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


class Gpio(_Port):
    """GPIO of the STM32 families with MODER. A pin that is given work needs a supply."""

    MODER, AFR = 0x00, 0x20
    _OUTPUT, _ALTERNATE = 1, 2

    def write(self, offset: int, size: int, value: int) -> None:
        super().write(offset, size, value)
        power = self.wires.find(Pwr)
        if offset != self.MODER or power is None:
            return
        for pin in range(16):
            works = value >> 2 * pin & 3 in (self._OUTPUT, self._ALTERNATE)
            if works and not power.has_supply(self.block.name, pin):
                self.wires.fail(f"pin {pin} of {self.block.name} has no supply")

    def function(self, pin: int) -> int | None:
        """The number of the peripheral function that drives a pin; None where none does."""
        if self.read(self.MODER) >> 2 * pin & 3 != self._ALTERNATE:
            return None
        return self.read(self.AFR + 4 * (pin // 8)) >> 4 * (pin % 8) & 15


class GpioV1(_Port):
    """GPIO of the STM32F1, with CRL and CRH (RM0041 section 7)."""

    CRL, CRH, ODR, BSRR = 0x00, 0x04, 0x0C, 0x10
    reset_values = {CRL: 0x4444_4444, CRH: 0x4444_4444}  # noqa: RUF012

    def function(self, pin: int) -> int | None:
        """The pin's CNF and MODE bits; None for a plain output."""
        bits = self.read(self.CRL + 4 * (pin // 8)) >> 4 * (pin % 8) & 15
        return None if bits & 3 and not bits & 8 else bits
