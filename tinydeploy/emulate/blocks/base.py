"""What a model of an IP block is: registers behind a bus, wires to the rest of the chip."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from tinydeploy.boards import Block


@dataclass(frozen=True, slots=True)
class Wires:
    """What a block sees of its chip.

    ``cycles``: time since reset. ``interrupt``: level of this block's interrupt. ``attention``: something
    changed that may let an interrupt through. ``transmit``: bytes that leave on the board's serial line.
    ``clock_hz``: the clock of a bus, or of the core where None is asked for. ``find``: the chip's model of a
    class. ``fail``: the firmware did what hardware would not survive; the emulation ends with that message.
    ``per_tick``: cycles per tick, for timers. ``external_hz``: the board's oscillator. ``baud``: the rate of
    the board's serial line, 0 for blocks that are not on it. ``edge``: a pin of this block changed its level.
    """

    cycles: Callable[[], int]
    interrupt: Callable[[bool], None]
    attention: Callable[[], None]
    transmit: Callable[[bytes], None]
    clock_hz: Callable[[str | None], int]
    find: Callable[[type[Any]], Any]
    fail: Callable[[str], None]
    per_tick: int = 1
    external_hz: int = 0
    baud: int = 0
    edge: Callable[[int, bool], None] = lambda _pin, _high: None


class Model(Protocol):
    """A block model. Offsets are in bytes, registers have 32 bits, ``size_bytes`` is its range."""

    size_bytes: int

    def reset(self) -> None: ...

    def read(self, offset: int) -> int:
        """The register at a word-aligned offset."""

    def write(self, offset: int, size: int, value: int) -> None:
        """Write 1, 2 or 4 bytes at an offset."""


class ClockTree(Model, Protocol):
    """The block whose registers choose the chip's clocks; a chip has one at most."""

    def clock_hz(self, bus: str | None) -> int:
        """The clock that the registers ask for, in Hz: of a bus, or of the core for None."""


class Receiver(Model, Protocol):
    """A block that takes bytes from the board's serial line."""

    def receive(self, data: bytes) -> None: ...


class RegisterFile:
    """Registers that keep what is written. A model of what needs no behaviour, and a base for the others."""

    size_bytes = 0x400
    reset_values: dict[int, int] = {}  # noqa: RUF012 - constant of the class

    def __init__(self, block: Block, wires: Wires) -> None:
        self.block = block
        self.wires = wires
        self.registers: dict[int, int] = {}
        self.reset()

    def reset(self) -> None:
        self.registers = dict(self.reset_values)

    def read(self, offset: int) -> int:
        return self.registers.get(offset, 0)

    def write(self, offset: int, size: int, value: int) -> None:
        self.registers[offset] = value
