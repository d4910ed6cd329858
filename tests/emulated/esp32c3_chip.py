"""An ESP32-C3 for tests: its ROM's direct boot, both views of the flash, UART0, interrupt matrix, watchdogs.

It runs a plain ``.bin``, as it lies in the flash, on Unicorn's RISC-V core. Where that core differs it is
helped: traps go through a table, and the counter has its own registers. The register ``mie``, which the
chip does not have, must be looked for in the image (``control_registers``).
"""

from __future__ import annotations

import struct
import time
from collections import deque
from collections.abc import Iterator

import pytest

from tinydeploy.emulate.chip.engine import unicorn

riscv = pytest.importorskip("unicorn.riscv_const")

FLASH_BYTES = 4 << 20
IROM, DROM, RAM, RAM_BYTES = 0x4200_0000, 0x3C00_0000, 0x3FC8_0000, 0x6_0000
MARK = struct.pack("<II", 0xAEDB041D, 0xAEDB041D)
PERIPHERALS, PERIPHERAL_BYTES = 0x6000_0000, 0x10_0000
CRYSTAL_HZ = 40_000_000

UART, RTC, IO_MUX, TIMER_GROUP = 0x0000, 0x8000, 0x9000, 0x1F000
SYSTEM, INTERRUPTS = 0xC0000, 0xC2000
UART_SOURCE = 21
RX_FULL, RX_TIMEOUT = 1 << 0, 1 << 8
WATCHDOG_KEY, SUPER_KEY = 0x50D83AA1, 0x8F1D312A

# Registers that a key guards, by the register that takes it.
_GUARDED = {
    RTC + 0x90: (RTC + 0xA8, WATCHDOG_KEY),
    RTC + 0xAC: (RTC + 0xB0, SUPER_KEY),
    TIMER_GROUP + 0x48: (TIMER_GROUP + 0x64, WATCHDOG_KEY),
}
_AFTER_RESET = {
    RTC + 0x90: 0x9001_3214,  # the watchdogs guard the boot
    TIMER_GROUP + 0x48: 0x8004_C000,
    SYSTEM + 0x10: 0xF9C1_E06F,
    SYSTEM + 0x58: 0x0002_8001,  # the crystal by 2
    INTERRUPTS + 0x194: 0,
}
_MIE, _MPIE, _MPP = 1 << 3, 1 << 7, 3 << 11
_WFI = 0x1050_0073
_SLICE = 20_000
_SHORT_SLICE = 8  # behind a sleep with interrupts masked: until the core lets the one in that woke it
_EXTERNAL = 0x8000_0000


class Esp32C3:
    """The chip with an image in its flash; a transport for ``rpc.Client``. It runs while somebody reads."""

    seconds_per_byte = 0.0
    name = "ESP32-C3"

    def __init__(self, image: bytes) -> None:
        self._image = image
        self.boots = 0
        self._start()

    def _start(self) -> None:
        """What the ROM does after every reset."""
        assert self._image[:8] == MARK, "the ROM finds nothing to boot directly"
        uc = unicorn.Uc(unicorn.UC_ARCH_RISCV, unicorn.UC_MODE_RISCV32)
        flash = self._image.ljust(FLASH_BYTES, b"\xff")
        for base, rights in (
            (IROM, unicorn.UC_PROT_READ | unicorn.UC_PROT_EXEC),
            (DROM, unicorn.UC_PROT_READ),
        ):
            uc.mem_map(base, FLASH_BYTES, rights)
            uc.mem_write(base, flash)
        uc.mem_map(RAM, RAM_BYTES, unicorn.UC_PROT_READ | unicorn.UC_PROT_WRITE)
        uc.mem_write(RAM, b"\xa5" * RAM_BYTES)
        uc.mmio_map(PERIPHERALS, PERIPHERAL_BYTES, self._read, None, self._write, None)
        uc.hook_add(unicorn.UC_HOOK_MEM_READ, self._loaded_as_code, None, IROM, IROM + FLASH_BYTES - 1)
        uc.reg_write(riscv.UC_RISCV_REG_MTVEC, 0x4000_0001)  # the ROM's
        self._uc, self._pc, self._executed = uc, IROM + len(MARK), 0
        self.registers = dict(_AFTER_RESET)
        self._received: deque[int] = deque()
        self._sent = bytearray()
        self._restarts = self._masked = False
        self.boots += 1

    # The line

    def write(self, data: bytes) -> None:
        self._received += data

    def read(self, timeout_s: float) -> bytes:
        """Run until something was sent; empty only after ``timeout_s``."""
        end = time.monotonic() + timeout_s
        while not self._sent and time.monotonic() < end:
            if not self._run() and not self._sent:
                time.sleep(max(end - time.monotonic(), 0.0))
        sent, self._sent = bytes(self._sent), bytearray()
        return sent

    def close(self) -> None:
        """Nothing to release."""

    # The core

    def _run(self) -> bool:
        """One slice; False where the core sleeps and nothing will wake it."""
        count = _SHORT_SLICE if self._masked else _SLICE
        try:
            self._uc.emu_start(self._pc, 0xFFFF_FFFF, count=count)
            self._pc = self._register("PC")
        except unicorn.UcError as error:
            self._pc = self._register("PC")
            if error.errno != unicorn.UC_ERR_EXCEPTION or not self._counter_register():
                raise AssertionError(f"{error} before {self._pc:#x}") from error
        self._executed += count
        if self._restarts:
            self._start()
            return True
        sleeps = self._word(self._pc - 4) == _WFI
        if self._pending():
            self._masked = not self._interrupt() and (self._masked or sleeps)
            return True
        return not sleeps

    def _interrupt(self) -> bool:
        """Enter the handler, if the core lets it in."""
        status = self._register("MSTATUS")
        if not status & _MIE:
            return False
        line = self.registers[INTERRUPTS + 4 * UART_SOURCE]
        self._uc.reg_write(riscv.UC_RISCV_REG_MSTATUS, (status & ~_MIE) | _MPIE | _MPP)
        self._uc.reg_write(riscv.UC_RISCV_REG_MEPC, self._pc)
        self._uc.reg_write(riscv.UC_RISCV_REG_MCAUSE, _EXTERNAL | line)
        self._pc = (self._register("MTVEC") & ~0xFF) + 4 * line
        return True

    def _pending(self) -> bool:
        line = self.registers.get(INTERRUPTS + 4 * UART_SOURCE, 0)
        enabled = self.registers.get(INTERRUPTS + 0x104, 0) >> line & 1
        priority = self.registers.get(INTERRUPTS + 0x114 + 4 * line, 0)
        lets_through = priority >= self.registers[INTERRUPTS + 0x194] > 0
        return bool(line and enabled and lets_through and self._uart_asks())

    def _counter_register(self) -> bool:
        """``csrw`` and ``csrr`` of mpcer, mpcmr and mpccr, which Unicorn's core does not know."""
        word = self._word(self._pc - 4)
        if word & 0x7F != 0x73 or not 0x7E0 <= word >> 20 <= 0x7E2:
            return False
        target = word >> 7 & 31
        if target:
            self._uc.reg_write(riscv.UC_RISCV_REG_X0 + target, self._executed & 0xFFFF_FFFF)
        return True

    def _loaded_as_code(
        self, _uc: object, _access: int, at: int, size: int, _value: int, _data: object
    ) -> None:
        """The instruction bus loads whole words only."""
        if size != 4 or at % 4:
            raise AssertionError(f"{size} bytes were loaded at {at:#x}, through the instruction bus")

    def _register(self, name: str) -> int:
        return int(self._uc.reg_read(getattr(riscv, f"UC_RISCV_REG_{name}")))

    def _word(self, at: int) -> int:
        return int.from_bytes(self._image[at - IROM : at - IROM + 4], "little") if at >= IROM else 0

    # The registers

    def _uart_raw(self) -> int:
        return RX_FULL | RX_TIMEOUT if self._received else 0

    def _uart_asks(self) -> bool:
        return bool(self._uart_raw() & self.registers.get(UART + 0x0C, 0))

    def _read(self, _uc: object, offset: int, _size: int, _data: object) -> int:
        if offset == UART:
            return self._received.popleft() if self._received else 0
        if offset == UART + 0x1C:
            return min(len(self._received), 128)
        if offset == INTERRUPTS + 0xF8:
            return (1 << UART_SOURCE) if self._uart_asks() else 0
        if offset == UART + 0x6C:
            return 0
        return self.registers.get(offset, 0)

    def _write(self, _uc: object, offset: int, _size: int, value: int, _data: object) -> None:
        if offset == UART:
            assert self.baud, "a byte was sent before the UART had its rate"
            self._sent.append(value & 0xFF)
            return
        lock, key = _GUARDED.get(offset, (offset, value))
        if lock != offset and self.registers.get(lock, 0) != key:
            return
        self.registers[offset] = value
        if offset == RTC and value >> 31:
            self._restarts = True
            self._uc.emu_stop()

    # What tests ask

    @property
    def baud(self) -> float:
        """The UART's rate; 0 where its clock is not the crystal's or is off."""
        clock, divider = self.registers.get(UART + 0x78, 0), self.registers.get(UART + 0x14, 0)
        steps = (divider & 0xFFF) + (divider >> 20 & 15) / 16
        on = clock >> 20 & 3 == 3 and clock >> 22 & 1 and clock >> 24 & 3 == 3 and not clock >> 23 & 1
        return CRYSTAL_HZ / ((clock >> 12 & 0xFF) + 1) / steps if on and steps else 0.0

    @property
    def watchdogs(self) -> dict[str, bool]:
        """Which of them would still bite."""
        rtc, group = self.registers[RTC + 0x90], self.registers[TIMER_GROUP + 0x48]
        return {
            "rtc": bool(rtc & (1 << 31 | 1 << 12)),
            "super": not self.registers.get(RTC + 0xAC, 0) >> 31,
            "timer group 0": bool(group & (1 << 31 | 1 << 14)),
        }


def control_registers(code: bytes) -> Iterator[int]:
    """The numbers of the control registers that instructions of 32 bits name; ``code`` begins with one."""
    at = 0
    while at + 2 <= len(code):
        half = int.from_bytes(code[at : at + 2], "little")
        if half & 3 == 3:
            word = int.from_bytes(code[at : at + 4], "little")
            if word & 0x7F == 0x73 and word >> 12 & 3:
                yield word >> 20
        at += 4 if half & 3 == 3 else 2
