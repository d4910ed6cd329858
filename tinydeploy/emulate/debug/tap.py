"""A JTAG chain (IEEE 1149.1): one state machine for all, a shift register through every part."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Protocol


class State(IntEnum):
    """The states of a test access port."""

    RESET = 0
    IDLE = 1
    SELECT_DR = 2
    CAPTURE_DR = 3
    SHIFT_DR = 4
    EXIT1_DR = 5
    PAUSE_DR = 6
    EXIT2_DR = 7
    UPDATE_DR = 8
    SELECT_IR = 9
    CAPTURE_IR = 10
    SHIFT_IR = 11
    EXIT1_IR = 12
    PAUSE_IR = 13
    EXIT2_IR = 14
    UPDATE_IR = 15


# The next state with TMS low and with TMS high.
_NEXT: tuple[tuple[State, State], ...] = (
    (State.IDLE, State.RESET),
    (State.IDLE, State.SELECT_DR),
    (State.CAPTURE_DR, State.SELECT_IR),
    (State.SHIFT_DR, State.EXIT1_DR),
    (State.SHIFT_DR, State.EXIT1_DR),
    (State.PAUSE_DR, State.UPDATE_DR),
    (State.PAUSE_DR, State.EXIT2_DR),
    (State.SHIFT_DR, State.UPDATE_DR),
    (State.IDLE, State.SELECT_DR),
    (State.CAPTURE_IR, State.RESET),
    (State.SHIFT_IR, State.EXIT1_IR),
    (State.SHIFT_IR, State.EXIT1_IR),
    (State.PAUSE_IR, State.UPDATE_IR),
    (State.PAUSE_IR, State.EXIT2_IR),
    (State.SHIFT_IR, State.UPDATE_IR),
    (State.IDLE, State.SELECT_DR),
)


class Tap(Protocol):
    """One part of a chain. ``ir_bits`` is the length of its instruction register, which captures 1."""

    ir_bits: int

    def reset(self) -> None: ...

    def select(self, instruction: int) -> None:
        """The instruction register was updated."""

    def capture(self) -> tuple[int, int]:
        """The value that the chosen data register shifts out, and its bits."""

    def update(self, value: int) -> None:
        """What was shifted into the chosen data register."""


class BypassTap:
    """A part that only identifies itself, such as an STM32's boundary scan."""

    def __init__(self, ir_bits: int, id_code: int) -> None:
        self.ir_bits = ir_bits
        self._id_code = id_code
        self._identifies = True

    def reset(self) -> None:
        self._identifies = True

    def select(self, instruction: int) -> None:
        self._identifies = instruction == 1

    def capture(self) -> tuple[int, int]:
        return (self._id_code, 32) if self._identifies else (0, 1)

    def update(self, value: int) -> None:
        """Nothing listens."""


class Chain:
    """Parts behind one another; the first is nearest to TDO."""

    def __init__(self, taps: Sequence[Tap]) -> None:
        self._taps = tuple(taps)
        self._state = State.RESET
        self._shift = 0
        self._lengths = [0] * len(self._taps)
        self._top = 0

    @property
    def tdo(self) -> int:
        return self._shift & 1

    def reset(self) -> None:
        """What TRST does."""
        self._state = State.RESET
        for tap in self._taps:
            tap.reset()

    def clock(self, tms: int, tdi: int) -> None:
        """A rising edge of TCK."""
        state = self._state
        if state is State.SHIFT_DR or state is State.SHIFT_IR:
            self._shift = self._shift >> 1 | tdi << self._top
        elif state is State.CAPTURE_DR:
            self._load([tap.capture() for tap in self._taps])
        elif state is State.CAPTURE_IR:
            self._load([(1, tap.ir_bits) for tap in self._taps])
        state = self._state = _NEXT[state][tms]
        if state is State.UPDATE_DR:
            for tap, value in zip(self._taps, self._split(), strict=True):
                tap.update(value)
        elif state is State.UPDATE_IR:
            for tap, value in zip(self._taps, self._split(), strict=True):
                tap.select(value)
        elif state is State.RESET:
            self.reset()

    def _load(self, captured: list[tuple[int, int]]) -> None:
        self._shift = at = 0
        self._lengths = [bits for _, bits in captured]
        for value, bits in captured:
            self._shift |= value << at
            at += bits
        self._top = at - 1

    def _split(self) -> list[int]:
        values = []
        at = 0
        for bits in self._lengths:
            values.append(self._shift >> at & (1 << bits) - 1)
            at += bits
        return values
