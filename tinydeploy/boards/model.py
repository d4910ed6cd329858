"""What a chip and a board are: frozen data, read from TOML files, the same for every consumer."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from pathlib import Path

LIBRARY_CPUS = ("xtensa-lx6", "xtensa-lx7", "avr")
"""Cores that no compiler of ours builds for: their chips are exported to, as libraries."""


class Kind(Enum):
    """What a memory region is made of; code goes to flash, everything that changes to RAM."""

    FLASH = "flash"
    RAM = "ram"


class Tier(Enum):
    """How far a board is proved without the board itself."""

    RUNS = "runs"  # the tests run its unmodified image in an emulator
    BUILDS = "builds"  # the tests build its image and check its structure; untested on hardware
    LIBRARY = "library"  # an export for the vendor's own tools; there is no firmware


class Action(Enum):
    """One step of a register table: write the masked bits, or wait until they read back as the value."""

    WRITE = "write"
    WAIT = "wait"


@dataclass(frozen=True, slots=True)
class Region:
    """A piece of the address space. ``cost`` orders RAM: the cheapest that is large enough holds the arena.

    ``alias`` is a second address of the same bytes, which an emulator maps too. ``view_of`` names the region
    whose bytes these are, seen through another bus: code runs in the one, constants are read in the other.
    """

    name: str
    origin: int
    size: int
    kind: Kind
    cost: int = 0
    alias: int | None = None
    view_of: str | None = None

    @property
    def end(self) -> int:
        return self.origin + self.size


@dataclass(frozen=True, slots=True)
class Block:
    """An IP block: ``type`` chooses its driver and its emulator model, ``base`` its address; 0: it has none.

    ``irq`` is the interrupt that reports received data, ``bus`` the clock domain, ``enable`` the register
    writes that switch the block's clock on.
    """

    name: str
    type: str
    base: int
    irq: int | None = None
    bus: str | None = None
    enable: tuple[RegisterStep, ...] = ()


@dataclass(frozen=True, slots=True)
class RegisterStep:
    """``value`` under ``mask`` at ``address``; a wait gives up after ``tries`` reads.

    ``size_bytes`` is how wide the register is accessed: 1, 2 or 4.
    """

    action: Action
    address: int
    mask: int
    value: int
    tries: int = 0
    comment: str = ""
    size_bytes: int = 4


@dataclass(frozen=True, slots=True)
class Clock:
    """A way to clock a chip: the steps that reach these rates, and the steps that give up on it.

    ``external_hz`` is the board's oscillator that it needs; 0: none.
    """

    name: str
    external_hz: int
    core_hz: int
    bus_hz: dict[str, int]
    steps: tuple[RegisterStep, ...]
    fallback: tuple[RegisterStep, ...]


@dataclass(frozen=True, slots=True)
class Counter:
    """The block whose register counts time for profiling.

    ``per_tick`` is how many instructions one tick lasts under QEMU's -icount: 1 for a cycle counter.
    """

    block: str
    per_tick: int = 1


@dataclass(frozen=True, slots=True)
class Layout:
    """Which region holds what, and how much stack is kept. ``constants`` may lie apart from the code.

    ``boot`` is the block that a boot ROM reads first (``runtime_c/boot/BOOT.c``); the vectors follow it,
    ``vectors_offset`` bytes behind the start of the code region.
    """

    code: str
    constants: str
    data: str
    stack_bytes: int
    boot: str | None = None
    vectors_offset: int = 0


@dataclass(frozen=True, slots=True)
class Slot:
    """One of the two places; ``unit`` is the flash interface's number of its first erase unit."""

    origin: int
    unit: int


@dataclass(frozen=True, slots=True)
class Slots:
    """Where a model's constants can be exchanged: two places of ``size`` bytes at the end of the code region.

    ``block`` is the flash interface whose driver writes them, ``erase_bytes`` in an erasure and
    ``program_bytes`` in an access.
    """

    block: str
    size: int
    erase_bytes: int
    program_bytes: int
    places: tuple[Slot, Slot]


@dataclass(frozen=True, slots=True)
class Chip:
    """A microcontroller. ``cpu`` is a key of the compilers' CPU table, ``interrupts`` the vectors it has.

    ``interrupt_controller`` is the block that collects interrupts, where the core has none of its own, and
    ``reset`` are the register writes that restart the chip, where the core cannot.

    ``reset_hz`` is the core and bus clock after reset, and after a fallback to the internal oscillator.
    """

    name: str
    title: str
    cpu: str
    path: Path
    reset_hz: int = 0
    interrupts: int = 0
    caches: bool = False
    regions: tuple[Region, ...] = ()
    layout: Layout | None = None
    blocks: tuple[Block, ...] = ()
    clocks: tuple[Clock, ...] = ()
    counter: Counter | None = None
    interrupt_controller: str | None = None
    reset: tuple[RegisterStep, ...] = ()
    slots: Slots | None = None

    @property
    def is_host(self) -> bool:
        return self.cpu == "host"

    @property
    def is_buildable(self) -> bool:
        """Whether firmware exists for it; else only libraries for the vendor's tools."""
        return self.cpu not in LIBRARY_CPUS

    @property
    def ram_bytes(self) -> int:
        return sum(region.size for region in self.regions if region.kind is Kind.RAM)

    @property
    def flash_bytes(self) -> int:
        return sum(
            region.size for region in self.regions if region.kind is Kind.FLASH and region.view_of is None
        )

    def region(self, name: str) -> Region:
        return next(region for region in self.regions if region.name == name)

    def block(self, name: str) -> Block:
        return next(block for block in self.blocks if block.name == name)


@dataclass(frozen=True, slots=True)
class Pin:
    """A pin that a peripheral drives: ``port`` is a block of the chip, ``alternate`` its function number."""

    port: str
    pin: int
    alternate: int


@dataclass(frozen=True, slots=True)
class Signal:
    """A pin that firmware drives to be seen from outside; ``role`` is one of ``SIGNAL_ROLES``."""

    role: str
    port: str
    pin: int


SIGNAL_ROLES = ("timing", "processing", "detection")
"""What signals tell: an edge at the ends of a measurement, work under way, something found."""


@dataclass(frozen=True, slots=True)
class Uart:
    """The serial line that the host talks to."""

    block: str
    baud: int


@dataclass(frozen=True, slots=True)
class Probe:
    """A way to flash the board. What ``config`` means is the tool's: see docs/flashing.md.

    ``format`` is the file that a drive takes (bin, hex or uf2), ``family`` the chip's number in UF2.
    """

    tool: str
    config: str
    format: str = ""
    family: int = 0


@dataclass(frozen=True, slots=True)
class QemuProperty:
    """A number that a device of a QEMU machine is told: ``-global DEVICE.NAME=VALUE``."""

    device: str
    name: str
    value: int


@dataclass(frozen=True, slots=True)
class EmulatorChoice:
    """An emulator that runs this board's images; ``machine`` is QEMU's name of the machine."""

    kind: str
    machine: str = ""
    properties: tuple[QemuProperty, ...] = ()


@dataclass(frozen=True, slots=True)
class Frameworks:
    """What other build systems call a board; empty where they do not know it.

    ``arduino`` is package, architecture and board, the parts of a fully qualified board name; ``zephyr`` the
    board that west builds for; ``esp_idf`` the target.
    """

    arduino: tuple[str, ...] = ()
    zephyr: str = ""
    esp_idf: str = ""


@dataclass(frozen=True, slots=True)
class PlatformioBoard:
    """What PlatformIO calls a board, and its platform.

    ``frameworks`` are those of its manifest that we export to; ``bare``: its platform builds without one too.
    ``gcc`` is the version of its compiler's package that then replaces a default too old for us; empty: none.
    """

    platform: str
    board: str
    frameworks: tuple[str, ...] = ()
    bare: bool = False
    gcc: str = ""


@dataclass(frozen=True, slots=True)
class Board:
    """A board: a chip with a clock, a serial line, pins and the ways to reach it.

    ``emulators`` and ``probes`` come best first.
    """

    name: str
    title: str
    chip: Chip
    path: Path
    tier: Tier
    aliases: tuple[str, ...] = ()
    clock: Clock | None = None
    uart: Uart | None = None
    pins: tuple[Pin, ...] = ()
    signals: tuple[Signal, ...] = ()
    probes: tuple[Probe, ...] = ()
    emulators: tuple[EmulatorChoice, ...] = ()
    frameworks: Frameworks = Frameworks()
    platformio: PlatformioBoard | None = None

    @property
    def ports(self) -> tuple[str, ...]:
        """The chip's blocks whose pins the board uses, each once."""
        driven = [pin.port for pin in self.pins] + [signal.port for signal in self.signals]
        return tuple(dict.fromkeys(driven))

    @property
    def is_host(self) -> bool:
        return self.chip.is_host

    @property
    def clock_hz(self) -> int:
        return self.clock.core_hz if self.clock else self.chip.reset_hz
