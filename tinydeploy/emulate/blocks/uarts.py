"""Models of UARTs. Bytes wait in an unlimited queue: an emulated line has no overruns."""

from __future__ import annotations

from collections import deque

from tinydeploy.boards import Block
from tinydeploy.emulate.blocks.base import RegisterFile, Wires

_BAUD_TOLERANCE = 0.02


def check_baud(block: Block, wires: Wires, divider: float) -> None:
    """A line whose two ends disagree on the rate carries noise: end the emulation and say so."""
    if wires.baud == 0:
        return
    rate = wires.clock_hz(block.bus) / divider if divider else 0.0
    if abs(rate - wires.baud) > _BAUD_TOLERANCE * wires.baud:
        wires.fail(f"{block.name} sends at {rate:.0f} baud, the board's line has {wires.baud}")


class ReceivingUart(RegisterFile):
    """A UART whose bytes wait in a queue; a model says in ``_update`` what that does to its interrupt."""

    def __init__(self, block: Block, wires: Wires) -> None:
        self._received: deque[int] = deque()
        super().__init__(block, wires)

    def reset(self) -> None:
        super().reset()
        self._received.clear()
        self._update()

    def receive(self, data: bytes) -> None:
        self._received.extend(data)
        self._update()

    def _update(self) -> None:
        """Bytes came or went, or registers changed."""


class _StUsart(ReceivingUart):
    """What ST's USARTs have in common; a version says where registers and bits are."""

    CR1, BRR, STATUS, RECEIVE, TRANSMIT = 0x00, 0x00, 0x00, 0x00, 0x00
    _UE, _RE, _TE, _RXNEIE, _TCIE, _TXEIE = 1 << 0, 1 << 2, 1 << 3, 1 << 5, 1 << 6, 1 << 7
    _RXNE, _TC, _TXE = 1 << 5, 1 << 6, 1 << 7

    def read(self, offset: int) -> int:
        if offset == self.STATUS:
            return self._status()
        if offset == self.RECEIVE:
            value = self._received.popleft() if self._received else 0
            self._update()
            return value
        return super().read(offset)

    def write(self, offset: int, size: int, value: int) -> None:
        if offset == self.TRANSMIT:
            if self._on(self._TE):
                check_baud(self.block, self.wires, self.divider())
                self.wires.transmit(bytes([value & 0xFF]))
            return
        super().write(offset, size, value)
        self._update()

    def divider(self) -> float:
        """The clock of its bus over the rate of its line."""
        return self.registers.get(self.BRR, 0)

    def _on(self, enable: int) -> bool:
        return self.registers.get(self.CR1, 0) & (self._UE | enable) == self._UE | enable

    def _status(self) -> int:
        status = self._TC | self._TXE
        return status | self._RXNE if self._received and self._on(self._RE) else status

    def _update(self) -> None:
        enabled = self.registers.get(self.CR1, 0)
        wanted = bool(enabled & self._UE) and bool(
            enabled & self._status() & (self._RXNE | self._TC | self._TXE)
        )
        self.wires.interrupt(wanted)


class StUsartV1(_StUsart):
    """ST USART with SR and DR (RM0090 section 30, RM0041 section 23)."""

    CR1, BRR, SR, DR = 0x0C, 0x08, 0x00, 0x04
    STATUS, RECEIVE, TRANSMIT = SR, DR, DR
    _UE = 1 << 13


class StUsartV2(_StUsart):
    """ST USART with ISR, RDR and TDR (RM0385 section 31)."""

    CR1, BRR, ISR, ICR, RDR, TDR = 0x00, 0x0C, 0x1C, 0x20, 0x24, 0x28
    STATUS, RECEIVE, TRANSMIT = ISR, RDR, TDR
    _TEACK, _REACK = 1 << 21, 1 << 22

    def _status(self) -> int:
        status = super()._status()
        status |= self._TEACK if self._on(self._TE) else 0
        return status | self._REACK if self._on(self._RE) else status


class StLpuart(StUsartV2):
    """ST LPUART (RM0432, chapter LPUART): the divider counts 256ths, and is 0x300 at least."""

    _LEAST_DIVIDER = 0x300

    def divider(self) -> float:
        raw = self.registers.get(self.BRR, 0)
        if raw < self._LEAST_DIVIDER:
            self.wires.fail(f"{self.block.name} divides by {raw:#x} / 256, 0x300 is the least")
        return raw / 256


class CmsdkUart(RegisterFile):
    """Arm CMSDK APB UART: one byte of buffer; each byte sets the interrupt, writing clears it."""

    DATA, STATE, CTRL, INTERRUPT, BAUDDIV = 0x00, 0x04, 0x08, 0x0C, 0x10
    _RX = 1 << 1
    _RX_INTERRUPT = 1 << 3

    def __init__(self, block: Block, wires: Wires) -> None:
        self._received: deque[int] = deque()
        self._full = False
        self._pending = False
        super().__init__(block, wires)

    def reset(self) -> None:
        super().reset()
        self._received.clear()
        self._full = self._pending = False
        self._present()

    def receive(self, data: bytes) -> None:
        self._received.extend(data)
        self._present()

    def read(self, offset: int) -> int:
        if offset == self.DATA:
            value = self._received.popleft() if self._full else 0
            self._full = False
            self._present()
            return value
        if offset == self.STATE:
            return self._RX if self._full else 0
        if offset == self.INTERRUPT:
            return self._RX if self._pending else 0
        return super().read(offset)

    def write(self, offset: int, size: int, value: int) -> None:
        if offset == self.DATA:
            if self.registers.get(self.CTRL, 0) & 1:
                check_baud(self.block, self.wires, self.registers.get(self.BAUDDIV, 0))
                self.wires.transmit(bytes([value & 0xFF]))
            return
        if offset == self.INTERRUPT:
            self._pending = self._pending and not value & self._RX
            self.wires.interrupt(self._pending)
            return
        super().write(offset, size, value)
        self._present()

    def _present(self) -> None:
        """Let the next byte of the line into the buffer, if it is free."""
        control = self.registers.get(self.CTRL, 0)
        if self._received and not self._full and control & self._RX:
            self._full = True
            self._pending = self._pending or bool(control & self._RX_INTERRUPT)
        self.wires.interrupt(self._pending)
