"""The line that a faulting board sends (``runtime_c/core``), in words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Protocol

from tinydeploy.errors import DeviceError
from tinydeploy.firmware.image import Image

_LINE = re.compile(rb"TD-FAULT exception=[^\r\n\0]*\r\n")
_FIELD = re.compile(r"(\w+)=(\w+)")
_REPORT_BYTES = 512  # no report is longer
# Bits of the status register of Cortex-M cores from M3 on (CFSR).
_CAUSES = {
    0: "code fetched from a protected address",
    1: "access to a protected address",
    4: "stack overflow",
    8: "code fetched where there is no memory",
    9: "access to an address where there is nothing",
    10: "write to an address where there is nothing",
    12: "stack overflow",
    16: "undefined instruction",
    17: "branch to an address that is not code",
    18: "damaged return from an exception",
    19: "floating point while the FPU is off",
    20: "stack overflow",
    24: "unaligned access",
    25: "division by zero",
}
_HARD_FAULT = 3
# Exception numbers of RISC-V (mcause).
_RISCV_CAUSES = {
    0: "branch to an address that is not code",
    1: "code fetched from a missing or protected address",
    2: "undefined instruction",
    3: "breakpoint",
    4: "unaligned access",
    5: "read of a missing or protected address",
    6: "unaligned access",
    7: "write to a missing or protected address",
}
_RISCV_ACCESSES = (1, 4, 5, 6, 7)


@dataclass(frozen=True, slots=True)
class Fault:
    """A fault report. ``registers`` lacks pc, lr and r0 to r3 where the stack had overflowed."""

    exception: int
    stack_overflow: bool
    registers: dict[str, int]

    @property
    def causes(self) -> tuple[str, ...]:
        """What the registers say; ``interrupt N without a driver`` for an unexpected interrupt."""
        if self.exception >= 16:
            return (f"interrupt {self.exception - 16} without a driver",)
        if "mcause" in self.registers:
            found = [text for number, text in _RISCV_CAUSES.items() if number == self.exception]
        else:
            status = self.registers.get("cfsr", 0)
            found = [text for bit, text in _CAUSES.items() if status >> bit & 1]
        if self.stack_overflow:
            found.insert(0, "stack overflow")
        unknown = "HardFault" if self.exception == _HARD_FAULT else f"exception {self.exception}"
        return tuple(dict.fromkeys(found)) or (unknown,)

    def describe(self, image: Image | None = None) -> str:
        """One line for the user; with the image, addresses become function names."""
        parts = [", ".join(self.causes)]
        if "pc" in self.registers:
            pc = self.registers["pc"]
            name = image.symbol_at(pc) if image else ""
            parts.append(f"at {pc:#010x}{f' ({name})' if name else ''}")
        status = self.registers.get("cfsr", 0)
        if status >> 15 & 1:
            parts.append(f"address {self.registers['bfar']:#010x}")
        elif status >> 7 & 1:
            parts.append(f"address {self.registers['mmfar']:#010x}")
        elif "mtval" in self.registers and self.exception in _RISCV_ACCESSES:
            parts.append(f"address {self.registers['mtval']:#010x}")
        return "the firmware faulted: " + ", ".join(parts)


def find_fault(received: bytes) -> Fault | None:
    """The first fault report among received bytes, or None."""
    match = _LINE.search(received)
    if match is None:
        return None
    fields = dict(_FIELD.findall(match[0].decode("ascii", "replace")))
    overflow = fields.pop("stack", "ok") == "overflow"
    numbers = {name: int(value, 16) for name, value in fields.items() if re.fullmatch("[0-9a-f]+", value)}
    return Fault(numbers.pop("exception", 0), overflow, numbers)


class _Transport(Protocol):
    """``rpc.Transport``, which this layer must not import."""

    @property
    def name(self) -> str: ...

    @property
    def seconds_per_byte(self) -> float: ...

    def write(self, data: bytes) -> None: ...

    def read(self, timeout_s: float) -> bytes: ...

    def close(self) -> None: ...


class FaultWatch:
    """A line that looks at what it carries: a fault report becomes a DeviceError at once.

    Without it, the host would wait for an answer that never comes. ``image`` gives addresses their names.
    """

    def __init__(self, line: _Transport, image: Image | None = None) -> None:
        self.name = line.name
        self.seconds_per_byte = line.seconds_per_byte
        self._line = line
        self._image = image
        self._recent = b""

    def write(self, data: bytes) -> None:
        self._line.write(data)

    def read(self, timeout_s: float) -> bytes:
        """What has arrived; raises DeviceError where a fault report is complete with it."""
        received = self._line.read(timeout_s)
        self._recent = (self._recent + received)[-_REPORT_BYTES - len(received) :]
        fault = find_fault(self._recent)
        if fault is not None:
            self._recent = b""
            raise DeviceError(fault.describe(self._image), where=self.name, fix="Reset the board")
        return received

    def close(self) -> None:
        self._line.close()
