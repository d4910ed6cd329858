"""The draft of a chip's file: what a description tells, and marked lines for what it does not."""

from __future__ import annotations

from tinydeploy.boards.chip_file import CPU_KEYS
from tinydeploy.boards.model import LIBRARY_CPUS, Kind
from tinydeploy.boards.new.facts import Facts, Memory
from tinydeploy.boards.new.known import known
from tinydeploy.boards.new.words import Page, identifier, title
from tinydeploy.resources import runtime_dir

SERIAL_BUS = "serial"
FIXED_CLOCK = "fixed"
# The stack by the size of the memory that it lies in.
_STACKS = ((64 << 10, 8192), (32 << 10, 4096), (16 << 10, 3072), (0, 1024))


def has_fixed_clock(facts: Facts) -> bool:
    """Whether core and serial line have clocks of their own that no firmware changes."""
    return facts.serial is not None and 0 < facts.serial.clock_hz != facts.core_hz > 0


def serial_name(facts: Facts) -> str:
    """Our name of the console's block."""
    return identifier(facts.serial.label if facts.serial else "", "uart")


def draft_chip(facts: Facts, name: str, file: str) -> Page:
    """The file ``chips/NAME.toml``; ``file`` is its name in messages."""
    page = Page(file)
    page.note(f"A draft from {facts.path.name} ({facts.form}); docs/board_files.md says what the keys mean.")
    page.add(f'name = "{name}"', f'title = "{title(facts.parts[0] if facts.parts else name, name)}"')
    if facts.cpu:
        page.add(f'cpu = "{facts.cpu}"')
    else:
        page.lacks("cpu", f"the core, one of {', '.join(CPU_KEYS[1:])}", 'cpu = "cortex-m4"')
    _reset_clock(page, facts)
    if facts.cpu in LIBRARY_CPUS:
        _regions(page, facts)
        return page
    if facts.interrupts:
        page.add(f"interrupts = {facts.interrupts}")
    else:
        page.lacks("interrupts", "how many interrupts the chip has, by its vector table", "interrupts = 100")
    if facts.controller is not None:
        page.add('interrupt_controller = "interrupts"')
    elif facts.cpu.startswith("rv"):
        page.lacks(
            "interrupt_controller",
            f"the block that collects interrupts; drivers: {_drivers('interrupts')}",
            'interrupt_controller = "plic" # and a [[block]] of that name',
        )
    _layout(page, facts)
    _regions(page, facts)
    _blocks(page, facts)
    if has_fixed_clock(facts):
        assert facts.serial is not None
        page.add("", "[[clock]]", f'name = "{FIXED_CLOCK}"', f"core_hz = {facts.core_hz:_}")
        page.add(f"bus_hz = {{ {SERIAL_BUS} = {facts.serial.clock_hz:_} }}")
    else:
        page.add("")
        page.note("Without a [[clock]] the chip stays on its reset clock.")
    return page


def _reset_clock(page: Page, facts: Facts) -> None:
    is_fixed = facts.serial is not None and facts.serial.clock_hz > 0
    hz = facts.core_hz or (facts.serial.clock_hz if facts.serial else 0)
    if hz and (is_fixed or facts.cpu in LIBRARY_CPUS):
        page.add(f"reset_hz = {hz:_}")
        return
    told = f" (the vendor's firmware sets {facts.core_hz:,} Hz later)" if facts.core_hz else ""
    page.lacks("reset_hz", f"the clock of core and buses after reset, in Hz{told}", "reset_hz = 8_000_000")


def _layout(page: Page, facts: Facts) -> None:
    code, data = facts.largest(Kind.FLASH), facts.largest(Kind.RAM)
    page.add("")
    if code is None or data is None or code.origin is None or data.origin is None:
        page.lacks(
            "layout",
            "the regions that hold code and data, and the bytes of stack",
            *("[layout]", 'code = "FLASH"', 'data = "RAM"', "stack_bytes = 4096"),
        )
        return
    stack = next(size for least, size in _STACKS if data.size >= least)
    page.add("[layout]", f'code = "{identifier(code.name, "FLASH")}"')
    page.add(f'data = "{identifier(data.name, "RAM")}"', f"stack_bytes = {stack}")


def _regions(page: Page, facts: Facts) -> None:
    for memory in facts.memories:
        if memory.origin is not None:
            _region(page, memory)
    unplaced = [memory for memory in facts.memories if memory.origin is None]
    for kind in Kind:
        lost = [memory for memory in unplaced if memory.kind is kind]
        if lost or not any(memory.kind is kind for memory in facts.memories):
            size = f"{lost[0].size:#x}" if lost else "0x10000"
            page.add("")
            page.lacks(
                "region",
                f"the {kind.value}{f' of {lost[0].size // 1024} KiB' if lost else ''}: where it starts",
                *("[[region]]", f'name = "{kind.value.upper()}"', "origin = 0x00000000"),
                *(f"size = {size}", f'kind = "{kind.value}"'),
            )


def _region(page: Page, memory: Memory) -> None:
    page.add("", "[[region]]", f'name = "{identifier(memory.name, memory.kind.value.upper())}"')
    assumed = " # as is usual in its family" if memory.is_assumed else ""
    page.add(f"origin = 0x{memory.origin or 0:08X}{assumed}")
    page.add(f"size = {memory.size:#x}", f'kind = "{memory.kind.value}"')


def _blocks(page: Page, facts: Facts) -> None:
    architecture = known().architecture(facts.cpu)
    page.add("")
    if architecture.counter:
        page.add("[counter]", f'block = "{architecture.counter}"')
    else:
        page.lacks(
            "counter",
            f"the block that counts time; drivers: {_drivers('counter')}",
            *("[counter]", 'block = "timer0" # and a [[block]] of that name'),
        )
    for block in architecture.blocks:
        page.add("", "[[block]]", f'name = "{block.name}"', f'type = "{block.type}"')
        if block.base is not None:
            page.add(f"base = {block.base:#X}".replace("0X", "0x"))
    if facts.controller is not None:
        page.add("", "[[block]]", 'name = "interrupts"', f'type = "{facts.controller.driver}"')
        page.add(f"base = 0x{facts.controller.base:08X}")
    _serial(page, facts)


def _serial(page: Page, facts: Facts) -> None:
    line = facts.serial
    page.add("")
    if line is None:
        page.lacks(
            "block",
            f"the UART of the board's serial line; drivers: {_drivers('uart')}",
            *("[[block]]", 'name = "uart"', 'type = "..."', "base = 0x40000000", "irq = 0"),
        )
        return
    is_known = bool(line.driver) and line.irq is not None
    block = ["[[block]]", f'name = "{serial_name(facts)}"', f'type = "{line.driver or "..."}"']
    block += [f"base = 0x{line.base:08X}", f"irq = {line.irq if line.irq is not None else '...'}"]
    block += [f'bus = "{SERIAL_BUS}"'] if has_fixed_clock(facts) else []
    if is_known:
        page.add(*block)
        return
    what = f"which driver fits {line.compatible}: {_drivers('uart')}" if not line.driver else "its interrupt"
    page.lacks("block", what, *block)


def _drivers(role: str) -> str:
    return ", ".join(sorted(path.stem for path in (runtime_dir() / "drivers" / role).glob("*.c")))
