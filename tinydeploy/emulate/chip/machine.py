"""The chip as a whole: core, blocks and time, run until somebody stops it."""

from __future__ import annotations

import ctypes
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from tinydeploy.boards import Board
from tinydeploy.emulate.blocks import Scs, Wires
from tinydeploy.emulate.blocks.scs import FIRST_INTERRUPT, HARD_FAULT, LOWEST_PRIORITY
from tinydeploy.emulate.blocks.st_flash_f7 import ProgrammableFlash
from tinydeploy.emulate.chip.bus import Bus
from tinydeploy.emulate.chip.core import Core
from tinydeploy.emulate.chip.engine import unicorn
from tinydeploy.emulate.chip.hook import NEVER, Hook
from tinydeploy.errors import DeviceError
from tinydeploy.firmware import Image

ModelT = TypeVar("ModelT")

_INTR_SVC = 2
_INTR_RETURN = 8
_INTR_CFSR = {3: 0x0100, 19: 0x0010_0000}  # prefetch, stack limit of Armv8-M
_EXCEPTION_SVC = 11
_END = 0xFFFF_FFFE  # no code reaches it
_LONGEST_SLEEP_S = 0.5
_CFSR = {
    unicorn.UC_ERR_READ_UNMAPPED: 0x8200,
    unicorn.UC_ERR_WRITE_UNMAPPED: 0x8200,
    unicorn.UC_ERR_READ_PROT: 0x8200,
    unicorn.UC_ERR_WRITE_PROT: 0x8200,
    unicorn.UC_ERR_FETCH_UNMAPPED: 0x0100,
    unicorn.UC_ERR_FETCH_PROT: 0x0100,
    unicorn.UC_ERR_INSN_INVALID: 0x0001_0000,
}
_CFSR_PUSH_FAILED = 0x1000
_HFSR_FORCED = 0x4000_0000


MAX_EDGES = 100_000
"""Edges that a machine remembers, the newest."""


@dataclass(frozen=True, slots=True)
class Edge:
    """An output pin changed its level, ``cycles`` after reset."""

    cycles: int
    port: str
    pin: int
    high: bool


class Machine:
    """A chip that executes an image.

    One cycle is one instruction.
    ``transmit`` gets the bytes of the board's UART, ``receive`` delivers bytes to it from any thread.
    ``edges`` is the log of the output pins.
    """

    def __init__(
        self,
        board: Board,
        transmit: Callable[[bytes], None],
        hook: Hook,
        stuck_low: Mapping[int, int],
    ) -> None:
        chip = board.chip
        assert board.uart is not None
        self._board = board
        self._chip = chip
        self._transmit = transmit
        self._state = hook.state
        self._wake = threading.Condition()
        self._incoming = bytearray()
        self._stopping = False
        self._idle_cycles = 0
        self._interrupt_number: int | None = None
        self._bad_address = 0
        self._failure = ""
        self.edges: deque[Edge] = deque(maxlen=MAX_EDGES)
        self.bus = Bus(chip, self._wires, stuck_low)
        self.core = Core(chip, self.bus, hook)
        self._uart = self.bus.models[board.uart.block]
        self._scs = next(model for model in self.bus.models.values() if isinstance(model, Scs))
        self._scs.set_core(chip.cpu)
        self._make_programmable()
        self._install_hooks()

    def load(self, image: Image) -> None:
        """Put an image into flash and reset the chip. Raises DeviceError where it does not fit the chip."""
        for segment in image.segments:
            try:
                self.core.load(segment.address, segment.data)
            except unicorn.UcError as error:
                raise DeviceError(
                    f"the image has {len(segment.data)} bytes at {segment.address:#x}, "
                    f"where {self._chip.name} has no memory",
                    where=str(image.path),
                    fix="Build it for this board",
                ) from error
        self.boot(image.symbols.get("td_vectors", min(segment.address for segment in image.segments)))

    def boot(self, vectors: int) -> None:
        """Reset the chip; the core starts through the vector table at that address."""
        self._vectors = vectors
        self.bus.reset()
        self.core.reset(vectors)

    @property
    def instructions(self) -> int:
        return self._state.instructions

    def receive(self, data: bytes) -> None:
        with self._wake:
            self._incoming += data
            self._wake.notify()
        self._attention()

    def stop(self) -> None:
        """Let ``run`` return soon; from any thread."""
        with self._wake:
            self._stopping = True
            self._wake.notify()
        self._attention()

    def run(self) -> None:
        """Execute until ``stop``. Raises DeviceError where the core locks up or hardware would fail."""
        while True:
            self._state.stop = 0  # before the looks below: what comes later sets it again
            if self._failure:
                raise DeviceError(self._failure)
            if self._stopping:
                return
            self._deliver_bytes()
            if self._scs.reset_requested:
                self.bus.reset()
                self.core.reset(self._vectors)
            waiting = self._take_interrupt()
            self._execute(waiting)

    def _wires(self, name: str) -> Wires:
        irq = self._chip.block(name).irq
        counter = self._chip.counter
        is_counter = counter is not None and counter.block == name
        uart = self._board.uart

        def interrupt(level: bool) -> None:
            if irq is not None and hasattr(self, "_scs"):
                self._scs.set_line(FIRST_INTERRUPT + irq, level)

        return Wires(
            cycles=self._cycles,
            interrupt=interrupt,
            attention=self._attention,
            transmit=self._transmit,
            clock_hz=self._clock_hz,
            find=self._find,
            fail=self._fail,
            per_tick=counter.per_tick if counter is not None and is_counter else 1,
            external_hz=self._board.clock.external_hz if self._board.clock else 0,
            baud=uart.baud if uart is not None and uart.block == name else 0,
            edge=lambda pin, high: self.edges.append(Edge(self._cycles(), name, pin, high)),
        )

    def _clock_hz(self, bus: str | None) -> int:
        trees = [model for model in self.bus.models.values() if hasattr(model, "clock_hz")]
        return trees[0].clock_hz(bus) if trees else self._chip.reset_hz

    def _find(self, kind: type[ModelT]) -> ModelT | None:
        return next((model for model in self.bus.models.values() if isinstance(model, kind)), None)

    def _fail(self, message: str) -> None:
        self._failure = self._failure or message
        self._attention()

    def _cycles(self) -> int:
        """Cycles up to the present block's start."""
        return self._state.before + self._idle_cycles

    def _attention(self) -> None:
        self._state.stop = 1

    def _deliver_bytes(self) -> None:
        with self._wake:
            data = bytes(self._incoming)
            self._incoming.clear()
        if data and hasattr(self._uart, "receive"):
            self._uart.receive(data)

    def _take_interrupt(self) -> bool:
        """Enter the most urgent pending exception; True where one waits for PRIMASK."""
        active = self.core.active
        below = min([self._scs.priority(number) for number in active], default=LOWEST_PRIORITY)
        number = self._scs.next_exception(below)
        if number is None:
            return False
        if self.core.masked:
            return True
        self._scs.taken(number)
        self._enter(number)
        return False

    def _execute(self, interrupt_waits: bool) -> None:
        """Run up to the next event: a stop, an exception, a sleep or a fault."""
        self._interrupt_number = None
        deadline = self._scs.tick_deadline()
        state = self._state
        state.deadline = NEVER if deadline is None else max(0, deadline - self._idle_cycles)
        state.interrupt = int(interrupt_waits)
        state.stopped = 0
        try:
            self.core.engine.emu_start(self.core.pc | 1, _END)
        except unicorn.UcError as error:
            self._fault(_CFSR.get(error.errno, 0))
            return
        if self._interrupt_number is not None:
            self._exception(self._interrupt_number)
        elif not state.stopped:  # WFI
            state.before = state.instructions
            if not interrupt_waits:
                self._sleep()

    def _exception(self, number: int) -> None:
        """What Unicorn reports through its interrupt hook."""
        if number == _INTR_RETURN:
            if not self.core.active:
                self._fault(0x0004_0000)
                return
            self.core.leave(self.core.pc | 1)
        elif number == _INTR_SVC:
            self._enter(_EXCEPTION_SVC)
        else:
            self._fault(_INTR_CFSR.get(number, 0))

    def _enter(self, number: int) -> None:
        if not self.core.enter(number, self._vectors):
            self._scs.registers[Scs.CFSR] = self._scs.read(Scs.CFSR) | _CFSR_PUSH_FAILED

    def _fault(self, cause: int) -> None:
        """Every fault is taken as HardFault; the status registers tell the cause."""
        pc = self.core.pc
        if HARD_FAULT in self.core.active:
            raise DeviceError(f"the core locked up: a fault in the fault handler, at {pc:#x}")
        registers = self._scs.registers
        registers[Scs.CFSR] = self._scs.read(Scs.CFSR) | cause
        registers[Scs.HFSR] = self._scs.read(Scs.HFSR) | _HFSR_FORCED
        registers[Scs.BFAR] = self._bad_address
        self._enter(HARD_FAULT)

    def _sleep(self) -> None:
        """WFI: wait for bytes or for SysTick, without using the host's processor."""
        deadline = self._scs.tick_deadline()
        hz = self._clock_hz(None) or self._chip.reset_hz
        wait_s = _LONGEST_SLEEP_S
        if deadline is not None:
            wait_s = min(wait_s, max(0, deadline - self._cycles()) / hz)
        if self._scs.next_exception(LOWEST_PRIORITY) is not None:
            return
        begun = time.monotonic()
        with self._wake:
            self._wake.wait_for(lambda: self._stopping or self._incoming, wait_s)
        self._idle_cycles += int((time.monotonic() - begun) * hz)

    def _make_programmable(self) -> None:
        """Give firmware the flash interface that erases and programs, where the chip's file has slots."""
        slots, layout = self._chip.slots, self._chip.layout
        if slots is None or layout is None or self._chip.block(slots.block).type != "st_flash_f7":
            return
        region = self._chip.region(layout.code)
        memory = self.core.memory(region.name)
        self.bus.replace(slots.block, lambda block, wires: ProgrammableFlash(block, wires, region, memory))
        for place in slots.places:
            ctypes.memset(ctypes.addressof(memory) + place.origin - region.origin, 0xFF, slots.size)

    @property
    def programmable_flash(self) -> ProgrammableFlash | None:
        """The flash interface that firmware programs, if the chip has one."""
        return self._find(ProgrammableFlash)

    def _store_to_flash(self, address: int, size: int, value: int) -> bool:
        """A store to flash: True where it programs; else it faults."""
        flash, layout = self.programmable_flash, self._chip.layout
        if flash is None or layout is None or not flash.is_programming:
            return False
        region = self._chip.region(layout.code)
        if not region.origin <= address < region.end:
            return False
        flash.store(address - region.origin, size, value)
        return True

    def _install_hooks(self) -> None:
        engine = self.core.engine
        engine.hook_add(unicorn.UC_HOOK_INTR, self._on_interrupt)
        engine.hook_add(unicorn.UC_HOOK_MEM_INVALID, self._on_bad_access)

    def _on_interrupt(self, engine: Any, number: int, _data: object) -> None:
        self._interrupt_number = number
        engine.emu_stop()

    def _on_bad_access(
        self, _engine: object, access: int, address: int, size: int, value: int, _data: object
    ) -> bool:
        if access == unicorn.UC_MEM_WRITE_PROT and self._store_to_flash(address, size, value):
            return True  # the engine drops the store itself
        self._bad_address = address
        return False
