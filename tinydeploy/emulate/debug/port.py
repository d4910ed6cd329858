"""An Arm debug port on JTAG with one memory access port (ADIv5, IHI 0031)."""

from __future__ import annotations

from typing import Protocol

from tinydeploy.emulate.debug.identity import ROM_TABLE

_ABORT, _DPACC, _APACC, _IDCODE = 0x8, 0xA, 0xB, 0xE
_CTRL_STAT, _SELECT = 0x4, 0x8
_CSW, _TAR, _DRW, _CFG, _BASE, _IDR = 0x00, 0x04, 0x0C, 0xF4, 0xF8, 0xFC
_ACK_OK = 0b010
_STICKY_ERROR = 1 << 5
_POWER_REQUESTS = 0x5000_0000  # each acknowledged by the bit above it
_AHB_AP = 0x7477_0001
_WORD = 0xFFFF_FFFF
_TAR_WRAP = 0x400
_SIZES = (1, 2, 4)


class Memory(Protocol):
    """What the access port reads and writes: the core's view of its bus. None and False: a bus fault."""

    def read(self, address: int, size: int) -> int | None: ...

    def write(self, address: int, size: int, value: int) -> bool: ...


class DebugPort:
    """The part of a JTAG chain through which a debugger reaches memory. It never asks to wait."""

    ir_bits = 4

    def __init__(self, id_code: int, memory: Memory, rom_table: int = ROM_TABLE | 3) -> None:
        self._id_code = id_code
        self._memory = memory
        self._rom_table = rom_table
        self._instruction = _IDCODE
        self._control = 0
        self._select = 0
        self._csw = 0
        self._tar = 0
        self._answer = 0

    def reset(self) -> None:
        self._instruction = _IDCODE

    def select(self, instruction: int) -> None:
        self._instruction = instruction

    def capture(self) -> tuple[int, int]:
        if self._instruction in (_DPACC, _APACC):
            return self._answer << 3 | _ACK_OK, 35
        if self._instruction == _ABORT:
            return 0, 35
        return (self._id_code, 32) if self._instruction == _IDCODE else (0, 1)

    def update(self, value: int) -> None:
        reads, register, data = value & 1, value << 1 & 0xC, value >> 3
        if self._instruction == _DPACC:
            if reads:
                self._answer = self.read_port(register)
            else:
                self.write_port(register, data)
        elif self._instruction == _APACC:
            register |= self._select & 0xF0
            present = not self._select >> 24
            if reads:
                self._answer = self.read_access(register) if present else 0
            elif present:
                self.write_access(register, data)

    def read_port(self, register: int) -> int:
        """A register of the port itself."""
        if register == _CTRL_STAT:
            return self._control | (self._control & _POWER_REQUESTS) << 1
        return self._select if register == _SELECT else 0

    def write_port(self, register: int, value: int) -> None:
        """Write a register of the port itself."""
        if register == _CTRL_STAT:
            sticky = self._control & _STICKY_ERROR & ~value
            self._control = value & _POWER_REQUESTS | sticky
        elif register == _SELECT:
            self._select = value

    def read_access(self, register: int) -> int:
        """A register of the memory access port, its bank included."""
        if register == _DRW:
            address = self._tar
            self._advance()
            return self._read(address)
        if register & 0xF0 == 0x10:
            return self._read(self._tar & ~0xF | register & 0xC)
        known = {_CSW: self._csw | 0x40, _TAR: self._tar, _CFG: 0, _BASE: self._rom_table, _IDR: _AHB_AP}
        return known.get(register, 0)

    def write_access(self, register: int, value: int) -> None:
        """Write a register of the memory access port."""
        if register == _CSW:
            self._csw = value & ~0x20  # no packed transfers: they read back as not supported
        elif register == _TAR:
            self._tar = value
        elif register == _DRW:
            address = self._tar
            self._advance()
            self._write(address, value)
        elif register & 0xF0 == 0x10:
            self._write(self._tar & ~0xF | register & 0xC, value)

    @property
    def _size(self) -> int:
        return _SIZES[min(self._csw & 7, 2)]

    def _advance(self) -> None:
        """The address increments within its low ten bits."""
        if self._csw >> 4 & 3:
            low = self._tar + self._size & _TAR_WRAP - 1
            self._tar = self._tar & -_TAR_WRAP & _WORD | low

    def _read(self, address: int) -> int:
        """Narrow values travel in the byte lanes of their address."""
        found = self._memory.read(address, self._size)
        if found is None:
            self._control |= _STICKY_ERROR
            return 0
        return found << 8 * (address & 3) if self._size < 4 else found

    def _write(self, address: int, value: int) -> None:
        if self._size < 4:
            value = value >> 8 * (address & 3) & (1 << 8 * self._size) - 1
        if not self._memory.write(address, self._size, value):
            self._control |= _STICKY_ERROR
