"""A chip's TOML file, checked, becomes a Chip."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

from tinydeploy.boards.model import (
    LIBRARY_CPUS,
    Action,
    Block,
    Chip,
    Clock,
    Counter,
    Kind,
    Layout,
    Region,
    RegisterStep,
    Slot,
    Slots,
)
from tinydeploy.boards.toml import Table, read_toml

# The keys of the compilers' CPU table; tests/toolchain keeps the two equal.
CPU_KEYS = (
    "host",
    "cortex-m0",
    "cortex-m0plus",
    "cortex-m3",
    "cortex-m4",
    "cortex-m7",
    "cortex-m33",
    "cortex-m55",
    "cortex-m85",
    "rv32imc",
)

ADDRESS_SPACE = 1 << 32
WAIT_TRIES = 100_000


def load_chip(file: Path) -> Chip:
    """Read and check a chip file; raises TinyDeployError that names the file and the key."""
    root = read_toml(file)
    name = root.identifier("name")
    title = root.title("title")
    cpu = root.choice("cpu", CPU_KEYS + LIBRARY_CPUS)
    if cpu == "host":
        root.finish()
        return Chip(name, title, cpu, file)
    if cpu in LIBRARY_CPUS:
        chip = Chip(name, title, cpu, file, root.integer("reset_hz", low=1), regions=_regions(root))
        root.finish()
        _unique(root, "region", [region.name for region in chip.regions])
        return chip
    bases = _block_bases(root)
    chip = Chip(
        name=name,
        title=title,
        cpu=cpu,
        path=file,
        reset_hz=root.integer("reset_hz", low=1),
        interrupts=root.integer("interrupts", high=496),
        caches=root.boolean("caches", False),
        regions=_regions(root),
        layout=_layout(root.table("layout")),
        blocks=tuple(_block(table, bases) for table in root.tables("block")),
        clocks=tuple(_clock(table, bases) for table in root.tables("clock")),
        counter=_counter(root.table("counter")),
        interrupt_controller=root.identifier("interrupt_controller")
        if root.has("interrupt_controller")
        else None,
        reset=_steps(root, "reset", bases),
        slots=_slots(root.table("slots")) if root.has("slots") else None,
    )
    root.finish()
    _check(root, chip)
    return chip


def _regions(root: Table) -> tuple[Region, ...]:
    regions = []
    for table in root.tables("region"):
        origin = table.integer("origin")
        regions.append(
            Region(
                name=table.identifier("name"),
                origin=origin,
                size=table.integer("size", low=1, high=ADDRESS_SPACE - origin),
                kind=Kind(table.choice("kind", tuple(kind.value for kind in Kind))),
                cost=table.integer("cost", 0),
                alias=table.integer("alias") if table.has("alias") else None,
                view_of=table.identifier("view_of") if table.has("view_of") else None,
            )
        )
        table.finish()
    return tuple(regions)


def _layout(table: Table) -> Layout:
    code = table.identifier("code")
    layout = Layout(
        code=code,
        constants=table.identifier("constants", code),
        data=table.identifier("data"),
        stack_bytes=table.integer("stack_bytes", low=256),
        boot=table.identifier("boot") if table.has("boot") else None,
        vectors_offset=table.integer("vectors_offset", 0, high=0x100000),
    )
    if layout.stack_bytes % 32:
        raise table.error("stack_bytes", f"got {layout.stack_bytes}, multiples of 32 are allowed")
    table.finish()
    return layout


def _slots(table: Table) -> Slots:
    places = []
    for place in table.tables("place"):
        places.append(Slot(place.integer("origin"), place.integer("unit", high=4095)))
        place.finish()
    if len(places) != 2:
        raise table.error("place", f"got {len(places)}, two places are allowed")
    slots = Slots(
        block=table.identifier("block"),
        size=table.integer("size", low=1),
        erase_bytes=table.integer("erase_bytes", low=1),
        program_bytes=table.integer("program_bytes", low=1, high=32),
        places=(places[0], places[1]),
    )
    if slots.size % slots.erase_bytes:
        raise table.error("size", f"got {slots.size:#x}, multiples of erase_bytes are allowed")
    if slots.program_bytes & (slots.program_bytes - 1):
        raise table.error("program_bytes", f"got {slots.program_bytes}, powers of two are allowed")
    table.finish()
    return slots


def _check_slots(root: Table, chip: Chip, slots: Slots) -> None:
    """Both at the end of the code region, so that code can be kept in front of them."""
    assert chip.layout is not None
    code = chip.region(chip.layout.code)
    first, second = sorted(place.origin for place in slots.places)
    if first + slots.size > second or first <= code.origin or second + slots.size > code.end:
        raise root.error(
            "slots.place",
            f"{first:#x} and {second:#x} of {slots.size:#x} bytes are not two pieces "
            f"at the end of {code.name}",
        )
    _known_block(root, "slots.block", slots.block, chip)


def _block_bases(root: Table) -> dict[str, int]:
    return {table.identifier("name"): table.integer("base", 0) for table in root.tables("block")}


def _block(table: Table, bases: dict[str, int]) -> Block:
    block = Block(
        name=table.identifier("name"),
        type=table.identifier("type"),
        base=table.integer("base", 0),
        irq=table.integer("irq", high=495) if table.has("irq") else None,
        bus=table.identifier("bus") if table.has("bus") else None,
        enable=_steps(table, "enable", bases),
    )
    table.finish()
    return block


def _clock(table: Table, bases: dict[str, int]) -> Clock:
    buses = table.table("bus_hz")
    clock = Clock(
        name=table.identifier("name"),
        external_hz=table.integer("external_hz", 0),
        core_hz=table.integer("core_hz", low=1),
        bus_hz={name: buses.integer(name, low=1) for name in buses.identifier_keys()},
        steps=_steps(table, "step", bases),
        fallback=_steps(table, "fallback", bases),
    )
    table.finish()
    return clock


def _steps(table: Table, key: str, bases: dict[str, int]) -> tuple[RegisterStep, ...]:
    return tuple(_step(step, bases) for step in table.tables(key))


def _step(table: Table, bases: dict[str, int]) -> RegisterStep:
    block = table.choice("block", tuple(bases))
    size_bytes = table.integer("bytes", 4, low=1, high=4)
    if size_bytes == 3:
        raise table.error("bytes", "got 3, allowed: 1, 2, 4")
    widest = (1 << 8 * size_bytes) - 1
    mask = table.integer("mask", widest, high=widest)
    action = Action(table.choice("do", tuple(action.value for action in Action), Action.WRITE.value))
    step = RegisterStep(
        action=action,
        address=bases[block] + table.integer("offset", 0, high=0xFFFF),
        mask=mask,
        value=table.integer("value"),
        tries=table.integer("tries", WAIT_TRIES, low=1) if action is Action.WAIT else 0,
        comment=table.title("what"),
        size_bytes=size_bytes,
    )
    if step.address % size_bytes:
        raise table.error("offset", f"{step.address:#x} is no multiple of the register's {size_bytes} bytes")
    if step.value & ~mask:
        raise table.error("value", f"{step.value:#x} has bits outside the mask {mask:#x}")
    table.finish()
    return step


def _counter(table: Table) -> Counter:
    counter = Counter(
        block=table.identifier("block"), per_tick=table.integer("per_tick", 1, low=1, high=1000)
    )
    table.finish()
    return counter


def _check(root: Table, chip: Chip) -> None:
    assert chip.layout is not None
    assert chip.counter is not None
    for key, names in (
        ("region", [region.name for region in chip.regions]),
        ("block", [block.name for block in chip.blocks]),
        ("clock", [clock.name for clock in chip.clocks]),
    ):
        _unique(root, key, names)
    _no_overlap(root, chip.regions)
    _views(root, chip)
    for key, name, kind in (
        ("code", chip.layout.code, Kind.FLASH),
        ("constants", chip.layout.constants, Kind.FLASH),
        ("data", chip.layout.data, Kind.RAM),
    ):
        allowed = tuple(region.name for region in chip.regions if region.kind is kind)
        if name not in allowed:
            raise root.error(
                f"layout.{key}", f"got {name!r}, {kind.value} regions are allowed: {', '.join(allowed)}"
            )
    _known_block(root, "counter.block", chip.counter.block, chip)
    if chip.slots is not None:
        _check_slots(root, chip, chip.slots)
    if chip.interrupt_controller is not None:
        _known_block(root, "interrupt_controller", chip.interrupt_controller, chip)
    for block in chip.blocks:
        if block.irq is not None and block.irq >= chip.interrupts:
            raise root.error(
                "block", f"{block.name}: irq {block.irq}, the chip has 0 to {chip.interrupts - 1}"
            )


def _unique(root: Table, key: str, names: Sequence[str]) -> None:
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise root.error(key, f"the name {twice[0]!r} is used twice")


def _no_overlap(root: Table, regions: tuple[Region, ...]) -> None:
    ordered = sorted(regions, key=lambda region: region.origin)
    for low, high in itertools.pairwise(ordered):
        if low.end > high.origin:
            raise root.error(
                "region",
                f"{low.name} (ends at {low.end:#x}) and {high.name} (starts at {high.origin:#x}) overlap",
            )


def _views(root: Table, chip: Chip) -> None:
    """A view shows the whole of the code region: the linker puts constants behind the code."""
    assert chip.layout is not None
    code = next((region for region in chip.regions if region.name == chip.layout.code), None)
    for region in chip.regions:
        if region.view_of is not None and (
            code is None
            or (region.view_of, region.kind, region.size) != (code.name, code.kind, code.size)
            or region.name == code.name
        ):
            raise root.error(
                "region",
                f"{region.name} is a view of {region.view_of}; views of the code region, "
                f"{chip.layout.code}, of its kind and size, are allowed",
            )


def _known_block(root: Table, key: str, name: str, chip: Chip) -> None:
    names = tuple(block.name for block in chip.blocks)
    if name not in names:
        raise root.error(key, f"got {name!r}, the chip has the blocks {', '.join(names)}")
