"""Clocks and power of the STM32H7: dividers per domain, a supply that is chosen once, voltage scales."""

from __future__ import annotations

from tinydeploy.emulate.blocks.base import RegisterFile
from tinydeploy.emulate.blocks.stm32 import Flash, Pll, Pwr, Rcc, Supply, ahb_shift, apb_shift

_HSI_HZ = 64_000_000
_CSI_HZ = 4_000_000
_INPUT_RANGES_HZ = ((1, 2), (2, 4), (4, 8), (8, 16))  # of PLL1RGE, in MHz


class RccH7(Rcc):
    """Reset and clock control of the STM32H742 to H753 (RM0433 section 8).

    Wait states count for the AXI bus, called ``ahb`` here, which may run slower than the core.
    """

    CR, CFGR, PLLCFGR = 0x00, 0x10, 0x2C
    D1CFGR, D2CFGR, D3CFGR, PLLCKSELR, PLL1DIVR = 0x18, 0x1C, 0x20, 0x28, 0x30
    reset_values = {  # noqa: RUF012
        CR: 0x0000_0001,
        PLLCKSELR: 0x0202_0200,
        PLLCFGR: 0x01FF_0000,
        PLL1DIVR: 0x0101_0280,
    }
    READY = ((0, 2), (7, 8), (12, 13), (16, 17), (24, 25), (26, 27), (28, 29))  # HSI CSI HSI48 HSE PLL1 to 3
    SOURCES = (0, 7, 16, 24)
    SW_BITS = 3
    # The register and the place of each divider behind the AHB's.
    DIVIDERS = {"apb1": (D2CFGR, 4), "apb2": (D2CFGR, 8), "apb3": (D1CFGR, 4), "apb4": (D3CFGR, 4)}  # noqa: RUF012
    PLL_INPUT_HZ = (2_000_000, 16_000_000)
    VCO_HZ = (192_000_000, 836_000_000)

    def write(self, offset: int, size: int, value: int) -> None:
        changed = value ^ self.registers.get(offset, 0)
        if offset in (self.PLLCKSELR, self.PLL1DIVR) and changed and self._is_on(self.PLL_ON):
            self.wires.fail(f"{self.block.name}: the PLL is changed while it runs")
        super().write(offset, size, value)
        if offset in (self.D1CFGR, self.D2CFGR, self.D3CFGR):
            self.check()

    def clock_hz(self, bus: str | None) -> int:
        d1 = self.registers.get(self.D1CFGR, 0)
        core = self.source_hz(self._selected()) >> ahb_shift(d1 >> 8 & 15)
        if bus is None:
            return core
        ahb = core >> ahb_shift(d1 & 15)
        if bus not in self.DIVIDERS:
            return ahb
        register, place = self.DIVIDERS[bus]
        return ahb >> apb_shift(self.registers.get(register, 0) >> place & 7)

    def source_hz(self, source: int) -> int:
        pll = self.pll()
        return (_HSI_HZ, _CSI_HZ, self.wires.external_hz, pll.output_hz if pll else 0)[source]

    def pll(self) -> Pll | None:
        selection, dividers = self.read(self.PLLCKSELR), self.read(self.PLL1DIVR)
        source = (_HSI_HZ, _CSI_HZ, self.wires.external_hz, 0)[selection & 3]
        divider, factor, output = selection >> 4 & 0x3F, (dividers & 0x1FF) + 1, (dividers >> 9 & 0x7F) + 1
        if not source or not divider:
            return None
        is_output_on = self.read(self.PLLCFGR) >> 16 & 1
        output_hz = source * factor // divider // output if is_output_on else 0
        return Pll(source / divider, source * factor / divider, output_hz)

    def check(self) -> None:
        supply, flash = self.supply(), self.wires.find(Flash)
        core_hz, ahb_hz = self.clock_hz(None), self.clock_hz("ahb")
        if self._is_on(self.PLL_ON):
            self._check_pll()
        if supply is None:
            return
        if core_hz > supply.max_hz:
            self.wires.fail(f"the core runs at {core_hz} Hz {supply.words}")
        for bus, max_hz in supply.bus_max_hz:
            if self.clock_hz(bus) > max_hz:
                self.wires.fail(f"{bus} runs at {self.clock_hz(bus)} Hz, at most {max_hz} are allowed")
        needed = (ahb_hz - 1) // supply.hz_per_wait_state
        if flash is not None and flash.wait_states < needed:
            self.wires.fail(f"flash has {flash.wait_states} wait states, {ahb_hz} Hz needs {needed}")

    def _check_pll(self) -> None:
        super()._check_pll()
        pll = self.pll()
        low, high = _INPUT_RANGES_HZ[self.read(self.PLLCFGR) >> 2 & 3]
        if pll is not None and not low * 1_000_000 <= pll.input_hz <= high * 1_000_000:
            self.wires.fail(
                f"the PLL's input runs at {pll.input_hz:.0f} Hz, its range is {low} to {high} MHz"
            )


class RccH7a3(RccH7):
    """Reset and clock control of the STM32H7A3 to H7B3 (RM0455 section 8): the H743's with a slower PLL."""

    VCO_HZ = (128_000_000, 560_000_000)


class PwrH7(Pwr):
    """Power control of the STM32H742 to H753 (RM0433 section 6).

    The lowest byte of CR3 is written once; until then the voltage scale cannot be changed. ``SCALES``: for
    each value of VOS its number, the highest core clock and the core clock per wait state.
    """

    CR1, CSR1, CR3, VOSCR = 0x00, 0x04, 0x0C, 0x18
    SUPPLY_BITS = 0x03
    LDO, SMPS = 1 << 1, 0
    _READY = 1 << 13
    SCALES: tuple[tuple[int, int, int] | None, ...] = (
        None,
        (3, 200_000_000, 45_000_000),
        (2, 300_000_000, 55_000_000),
        (1, 400_000_000, 70_000_000),
    )
    BEST = 3  # the value of VOS for which the buses' limits are these
    BUS_MAX_HZ: tuple[tuple[str, int], ...] = (
        ("ahb", 200_000_000),
        *((f"apb{number}", 100_000_000) for number in (1, 2, 3, 4)),
    )
    reset_values = {CR1: 0xF000_C000, CR3: 0x0000_0006, VOSCR: 0x0000_4000}  # noqa: RUF012

    def reset(self) -> None:
        super().reset()
        self._is_chosen = False

    def read(self, offset: int) -> int:
        if offset == self.CSR1:
            return (self._READY if self._is_chosen else 0) | super().read(self.VOSCR) & 0xC000
        if offset == self.VOSCR:
            return super().read(offset) | self._READY
        return super().read(offset)

    def write(self, offset: int, size: int, value: int) -> None:
        if offset == self.CR3:
            if self._is_chosen:
                value = value & ~self.SUPPLY_BITS | self.registers[offset] & self.SUPPLY_BITS
            self._is_chosen = True
            chosen = value & self.SUPPLY_BITS
            if chosen not in (self.LDO, self.SMPS or self.LDO):
                self.wires.fail(f"{self.block.name}: no supply is chosen by {chosen:#04x} in CR3")
        elif offset == self.VOSCR and not self._is_chosen and value & 0xC000 != self._vos() << 14:
            self.wires.fail(f"{self.block.name}: the voltage is changed before its supply is chosen")
        super().write(offset, size, value)

    def supply(self) -> Supply:
        scale = self.SCALES[self._vos()]
        if scale is None:
            return Supply("at a voltage scale that is reserved", 0, 1)
        number, max_hz, hz_per_wait_state = scale
        buses = self.BUS_MAX_HZ if self._vos() == self.BEST else ()
        return Supply(f"at voltage scale {number}", max_hz, hz_per_wait_state, buses)

    def _vos(self) -> int:
        return self.registers.get(self.VOSCR, 0) >> 14 & 3


class PwrH7a3(PwrH7):
    """Power control of the STM32H7A3 to H7B3 (RM0455 section 6): four scales, an SMPS."""

    SUPPLY_BITS = 0x3F
    SMPS = 1 << 2
    SCALES = (
        (3, 88_000_000, 22_000_000),
        (2, 160_000_000, 34_000_000),
        (1, 225_000_000, 38_000_000),
        (0, 280_000_000, 42_000_000),
    )
    BUS_MAX_HZ = (
        ("ahb", 280_000_000),
        *((f"apb{number}", 140_000_000) for number in (1, 2, 3, 4)),
    )
    reset_values = {PwrH7.CR1: 0xF000_C000, PwrH7.CR3: 0x0000_0006}  # noqa: RUF012


class FlashH7(Flash):
    """Flash interface (RM0433 and RM0455 section 4): slow after reset."""

    reset_values = {Flash.ACR: 0x0000_0037}  # noqa: RUF012


class Axi(RegisterFile):
    """The parameters of the AXI interconnect (RM0433 section 2.2)."""

    size_bytes = 0x10000
