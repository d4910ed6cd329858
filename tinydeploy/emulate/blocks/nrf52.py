"""Blocks of Nordic's nRF52 (nRF52833 and nRF52840 product specifications): clock, UART, pins."""

from __future__ import annotations

from collections import deque

from tinydeploy.boards import Block
from tinydeploy.emulate.blocks.base import RegisterFile, Wires
from tinydeploy.emulate.blocks.uarts import check_baud

_CORE_HZ = 64_000_000
_UART_HZ = 16_000_000
_BAUD_SHIFT = 32
PINS = 32


class Clock(RegisterFile):
    """CLOCK: tasks start oscillators, which run at once and tell it by an event."""

    size_bytes = 0x1000
    HFCLKSTART, HFCLKSTOP, HFCLKSTARTED, HFCLKSTAT = 0x000, 0x004, 0x100, 0x40C
    _CRYSTAL, _RUNNING = 1 << 0, 1 << 16

    def __init__(self, block: Block, wires: Wires) -> None:
        self.is_crystal = False
        super().__init__(block, wires)

    def reset(self) -> None:
        super().reset()
        self.is_crystal = False

    def read(self, offset: int) -> int:
        if offset == self.HFCLKSTAT:
            return self._RUNNING | (self._CRYSTAL if self.is_crystal else 0)
        return 0 if offset < self.HFCLKSTARTED else super().read(offset)

    def write(self, offset: int, size: int, value: int) -> None:
        if offset == self.HFCLKSTART and value & 1:
            self.is_crystal = True
            self.registers[self.HFCLKSTARTED] = 1
        elif offset == self.HFCLKSTOP and value & 1:
            self.is_crystal = False
        else:
            super().write(offset, size, value)

    def clock_hz(self, bus: str | None) -> int:
        """The core has 64 MHz from either oscillator; the crystal makes them exact."""
        return _CORE_HZ


class Uart(RegisterFile):
    """UART without DMA, as on the nRF51: one byte and its event at a time."""

    size_bytes = 0x1000
    STARTRX, STARTTX, RXDRDY, TXDRDY = 0x000, 0x008, 0x108, 0x11C
    INTENSET, INTENCLR, ENABLE = 0x304, 0x308, 0x500
    PSEL_TXD, PSEL_RXD, RXD, TXD, BAUDRATE = 0x50C, 0x514, 0x518, 0x51C, 0x524
    reset_values = {PSEL_TXD: 0xFFFF_FFFF, PSEL_RXD: 0xFFFF_FFFF, BAUDRATE: 0x0400_0000}  # noqa: RUF012
    _ON = 4
    _INT_RXDRDY = 1 << 2
    _DISCONNECTED = 1 << 31

    def __init__(self, block: Block, wires: Wires) -> None:
        self._received: deque[int] = deque()
        self._listens = self._sends = False
        self._is_told = False  # of the byte in RXD
        super().__init__(block, wires)

    def reset(self) -> None:
        super().reset()
        self._received.clear()
        self._listens = self._sends = self._is_told = False
        self._update()

    def receive(self, data: bytes) -> None:
        self._received.extend(data)
        self._present()

    def read(self, offset: int) -> int:
        if offset == self.RXD:
            value = self._received.popleft() if self._received else 0
            self._is_told = False
            self._present()
            return value
        return super().read(offset)

    def write(self, offset: int, size: int, value: int) -> None:
        if offset == self.STARTRX:
            self._listens = bool(value & 1) and self._is_connected(self.PSEL_RXD)
        elif offset == self.STARTTX:
            self._sends = bool(value & 1) and self._is_connected(self.PSEL_TXD)
        elif offset == self.TXD:
            self._send(value)
        elif offset in (self.INTENSET, self.INTENCLR):
            mask = self.registers.get(self.INTENSET, 0)
            self.registers[self.INTENSET] = mask | value if offset == self.INTENSET else mask & ~value
        else:
            super().write(offset, size, value)
        self._present()

    def _is_connected(self, select: int) -> bool:
        """A line whose pin was not chosen before the start leads nowhere."""
        is_on = self.registers.get(self.ENABLE, 0) == self._ON
        return is_on and not self.registers[select] & self._DISCONNECTED

    def _send(self, value: int) -> None:
        if not self._sends:
            return
        baud = self.registers[self.BAUDRATE] * _UART_HZ / (1 << _BAUD_SHIFT)
        check_baud(self.block, self.wires, self.wires.clock_hz(self.block.bus) / baud if baud else 0)
        self.wires.transmit(bytes([value & 0xFF]))
        self.registers[self.TXDRDY] = 1

    def _present(self) -> None:
        """A byte that comes into RXD raises the event once."""
        if self._received and self._listens and not self._is_told:
            self.registers[self.RXDRDY] = 1
            self._is_told = True
        self._update()

    def _update(self) -> None:
        enabled = self.registers.get(self.INTENSET, 0) & self._INT_RXDRDY
        self.wires.interrupt(bool(enabled and self.registers.get(self.RXDRDY, 0)))


class Gpio(RegisterFile):
    """A port of 32 pins; ports lie 0x300 apart, and their registers behind each other."""

    size_bytes = 0x800
    OUT, OUTSET, OUTCLR, DIR, DIRSET, DIRCLR, PIN_CNF = 0x504, 0x508, 0x50C, 0x514, 0x518, 0x51C, 0x700

    def write(self, offset: int, size: int, value: int) -> None:
        before = self._driven()
        if offset in (self.OUTSET, self.DIRSET):
            self._change(offset - 4, value, 0)
        elif offset in (self.OUTCLR, self.DIRCLR):
            self._change(offset - 8, 0, value)
        else:
            super().write(offset, size, value)
            if self.PIN_CNF <= offset < self.PIN_CNF + 4 * PINS:
                pin = 1 << (offset - self.PIN_CNF) // 4
                self._change(self.DIR, pin if value & 1 else 0, 0 if value & 1 else pin)
        after = self._driven()
        for pin in range(PINS):
            if (before ^ after) >> pin & 1:
                self.wires.edge(pin, bool(after >> pin & 1))

    def _change(self, register: int, set_bits: int, clear_bits: int) -> None:
        self.registers[register] = self.registers.get(register, 0) & ~clear_bits | set_bits

    def _driven(self) -> int:
        return self.registers.get(self.OUT, 0) & self.registers.get(self.DIR, 0)


class Nvmc(RegisterFile):
    """Flash controller and instruction cache: settings read back. Programming is not modelled."""

    size_bytes = 0x1000
