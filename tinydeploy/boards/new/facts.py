"""What a file of somebody else says about a board: the common ground of all the forms that are read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tinydeploy.boards.model import Kind, Pin, Probe


@dataclass(frozen=True, slots=True)
class Memory:
    """A memory of the chip. ``origin`` is None where only the size is known.

    ``is_assumed``: the origin is what is usual in the chip's family, the file does not tell.
    """

    name: str
    kind: Kind
    size: int
    origin: int | None = None
    is_assumed: bool = False

    @property
    def end(self) -> int | None:
        return None if self.origin is None else self.origin + self.size


@dataclass(frozen=True, slots=True)
class SerialLine:
    """The console's UART. ``driver`` is our type of the block, "" where it is not known.

    ``compatible`` is what the file calls it; ``clock_hz`` is 0 where the file does not tell; ``pins`` name
    their port as the file does.
    """

    label: str
    compatible: str
    base: int
    irq: int | None = None
    baud: int = 115_200
    driver: str = ""
    clock_hz: int = 0
    pins: tuple[Pin, ...] = ()


@dataclass(frozen=True, slots=True)
class Controller:
    """The block that collects interrupts, where the core has none of its own; ``lines`` is how many."""

    driver: str
    base: int
    lines: int = 0


@dataclass(frozen=True, slots=True)
class Facts:
    """One board as a file describes it. Empty strings and zeros: the file does not say.

    ``form`` is the kind of file in words, ``ids`` what it calls the board, ``parts`` what it calls the chip,
    best first. ``core_hz`` is the clock that the vendor's firmware sets, ``external_hz`` the oscillator that
    it comes from. ``code`` and ``data`` name the memories that hold them, the largest ones by default.
    ``probe_hints`` say how the board may be flashed.
    """

    path: Path
    form: str
    title: str = ""
    ids: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    cpu: str = ""
    core_hz: int = 0
    external_hz: int = 0
    memories: tuple[Memory, ...] = ()
    code: str = ""
    data: str = ""
    serial: SerialLine | None = None
    interrupts: int = 0
    controller: Controller | None = None
    probes: tuple[Probe, ...] = ()
    probe_hints: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def largest(self, kind: Kind) -> Memory | None:
        """The memory that holds code (flash) or data (RAM): the one named, else the largest."""
        named = self.code if kind is Kind.FLASH else self.data
        found = [memory for memory in self.memories if memory.kind is kind]
        return next(
            (memory for memory in found if memory.name == named),
            max(found, key=lambda memory: memory.size, default=None),
        )


def plain(text: str) -> str:
    """A name as names are compared: small letters and digits."""
    return "".join(c for c in text.lower() if c.isascii() and c.isalnum())
