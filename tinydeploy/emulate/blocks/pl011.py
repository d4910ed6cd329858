"""Model of Arm's PrimeCell UART (PL011), its FIFOs unlimited: an emulated line has no overruns."""

from __future__ import annotations

from tinydeploy.boards import Block
from tinydeploy.emulate.blocks.base import Wires
from tinydeploy.emulate.blocks.uarts import ReceivingUart, check_baud


class Pl011(ReceivingUart):
    """The receive interrupt is up while a byte waits: both of its reasons, level and time-out, at once."""

    DR, FR, IBRD, FBRD, LCR_H, CR, IMSC, ICR = 0x00, 0x18, 0x24, 0x28, 0x2C, 0x30, 0x38, 0x44
    size_bytes = 0x1000
    reset_values = {CR: 0x300}  # noqa: RUF012
    _RXFE, _TXFE = 1 << 4, 1 << 7
    _UARTEN, _TXE, _RXE = 1 << 0, 1 << 8, 1 << 9
    _RX, _RT = 1 << 4, 1 << 6
    _EIGHT_BITS = 3 << 5

    def __init__(self, block: Block, wires: Wires) -> None:
        self._divider = 0.0
        super().__init__(block, wires)

    def reset(self) -> None:
        self._divider = 0.0
        super().reset()

    def read(self, offset: int) -> int:
        if offset == self.DR:
            value = self._received.popleft() if self._received else 0
            self._update()
            return value
        if offset == self.FR:
            return self._TXFE | (0 if self._received and self._on(self._RXE) else self._RXFE)
        return super().read(offset)

    def write(self, offset: int, size: int, value: int) -> None:
        if offset == self.DR:
            self._send(value)
            return
        super().write(offset, size, value)
        if offset == self.LCR_H:  # takes the dividers over (DDI0183 3.3.6)
            whole, part = self.registers.get(self.IBRD, 0), self.registers.get(self.FBRD, 0)
            self._divider = 16 * whole + part / 4
        self._update()

    def _send(self, value: int) -> None:
        if not self._on(self._TXE):
            return
        if self.registers.get(self.LCR_H, 0) & self._EIGHT_BITS != self._EIGHT_BITS:
            self.wires.fail(f"{self.block.name} sends less than 8 bits")
        check_baud(self.block, self.wires, self._divider)
        self.wires.transmit(bytes([value & 0xFF]))

    def _on(self, enable: int) -> bool:
        return self.registers[self.CR] & (self._UARTEN | enable) == self._UARTEN | enable

    def _update(self) -> None:
        waits = bool(self._received) and self._on(self._RXE)
        self.wires.interrupt(waits and bool(self.registers.get(self.IMSC, 0) & (self._RX | self._RT)))
