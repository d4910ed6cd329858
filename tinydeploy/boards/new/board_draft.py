"""The draft of a board's file, on a chip of ours or on the draft of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tinydeploy.boards.model import LIBRARY_CPUS, Board, Chip, Clock, Kind, Pin, Tier
from tinydeploy.boards.new.chip_draft import FIXED_CLOCK, draft_chip, has_fixed_clock, serial_name
from tinydeploy.boards.new.chips import Match
from tinydeploy.boards.new.facts import Facts, plain
from tinydeploy.boards.new.words import Missing, Page, identifier, title


@dataclass(frozen=True, slots=True)
class Draft:
    """The texts of a board's file and of its chip's; ``chip_text`` is "" where the chip is one of ours.

    ``taken_from`` names the board of ours that is the same one. Nothing in ``missing``: the file loads.
    """

    name: str
    chip: str
    board_text: str
    chip_text: str
    missing: tuple[Missing, ...]
    notes: tuple[str, ...]
    reason: str = ""
    taken_from: str = ""


def draft_board(facts: Facts, match: Match | None, name: str, boards: Sequence[Board], file: str) -> Draft:
    """The draft; ``file`` is the board file's name in messages, ``boards`` are ours, to learn from."""
    chip = match.chip if match else None
    twin = _twin(facts, chip, boards)
    chip_name = (
        chip.name if chip else identifier(facts.parts[0].lower() if facts.parts else "", f"{name}-chip")
    )
    notes = [*facts.notes, *_size_notes(facts, chip), *(() if twin else facts.probe_hints)]
    page = Page(file)
    page.note(f"From {facts.path.name} ({facts.form}); docs/board_files.md says what the keys mean.")
    page.add(f'name = "{name}"', f'title = "{title(facts.title, name)}"', f'chip = "{chip_name}"')
    cpu = chip.cpu if chip else facts.cpu
    tier = twin.tier if twin else Tier.LIBRARY if cpu in LIBRARY_CPUS else Tier.BUILDS
    page.add(f'tier = "{tier.value}"')
    if tier is not Tier.LIBRARY:
        _clock(page, facts, chip, twin)
        _uart(page, facts, chip, twin)
    _rest(page, facts, chip, twin, boards)
    for note in notes:
        page.add("")
        page.note(f"Note: {note}")
    drafted = None if chip else draft_chip(facts, chip_name, f"chips/{chip_name}.toml")
    return Draft(
        name=name,
        chip=chip_name,
        board_text=page.text,
        chip_text=drafted.text if drafted else "",
        missing=(*(drafted.missing if drafted else ()), *page.missing),
        notes=tuple(notes),
        reason=match.reason if match else "",
        taken_from=twin.name if twin else "",
    )


def _twin(facts: Facts, chip: Chip | None, boards: Sequence[Board]) -> Board | None:
    """The board of ours that this is: its chip, and one of its names."""
    wanted = {plain(word) for word in facts.ids} - {""}
    for board in boards:
        names = {plain(word) for word in (board.name, *board.aliases, board.title)}
        if chip is not None and board.chip.name == chip.name and wanted & names:
            return board
    return None


def _size_notes(facts: Facts, chip: Chip | None) -> list[str]:
    flash = sum(memory.size for memory in facts.memories if memory.kind is Kind.FLASH)
    if chip is None or not flash or flash >= chip.flash_bytes:
        return []
    shares = f"{flash // 1024} of the chip's {chip.flash_bytes // 1024} KiB"
    return [f"it leaves {shares} of flash to programs: this image replaces a boot loader in the rest"]


def _clock(page: Page, facts: Facts, chip: Chip | None, twin: Board | None) -> None:
    if chip is None:
        if has_fixed_clock(facts):
            page.add(f'clock = "{FIXED_CLOCK}"')
        return
    clock = twin.clock if twin else _best_clock(facts, chip)
    if clock is not None:
        page.add(f'clock = "{clock.name}" # {clock.core_hz / 1e6:g} MHz')
    elif chip.clocks:
        names = ", ".join(
            f'"{clock.name}" ({clock.core_hz / 1e6:g} MHz'
            + (f", needs an oscillator of {clock.external_hz / 1e6:g} MHz)" if clock.external_hz else ")")
            for clock in chip.clocks
        )
        page.note(f"On its reset clock of {chip.reset_hz / 1e6:g} MHz. Faster: clock = one of {names}")


def _best_clock(facts: Facts, chip: Chip) -> Clock | None:
    """The clock that runs from what the board is known to have, the vendor's own speed first."""
    possible = [clock for clock in chip.clocks if clock.external_hz in (0, facts.external_hz)]
    return max(possible, key=lambda c: (c.core_hz == facts.core_hz, c.core_hz), default=None)


def _uart(page: Page, facts: Facts, chip: Chip | None, twin: Board | None) -> None:
    line = facts.serial
    page.add("")
    if chip is None:
        if line is None:
            page.lacks("uart", "the serial line, once the chip has its block", *_uart_lines("uart", 115_200))
        else:
            page.add(*_uart_lines(serial_name(facts), line.baud))
            _pins(page, (), line.compatible, needed=False)
        return
    receivers = [block for block in chip.blocks if block.irq is not None]
    block = next((block for block in receivers if line is not None and block.base == line.base), None)
    if line is not None and block is not None:
        ports = {block.name for block in chip.blocks}
        page.add(*_uart_lines(block.name, line.baud))
        pins = line.pins if all(pin.port in ports for pin in line.pins) else ()
        same = twin is not None and twin.uart is not None and twin.uart.block == block.name
        _pins(page, pins or (twin.pins if twin and same else ()), line.compatible, needed=True)
    elif twin is not None and twin.uart is not None:
        page.add(*_uart_lines(twin.uart.block, twin.uart.baud))
        _pins(page, twin.pins, "", needed=False)
    else:
        names = ", ".join(block.name for block in receivers)
        page.lacks(
            "uart", f"the board's serial line, one of {names}", *_uart_lines(names.split(",")[0], 115_200)
        )
        _pins(page, (), "", needed=True)


def _uart_lines(block: str, baud: int) -> tuple[str, ...]:
    return ("[uart]", f'block = "{block}"', f"baud = {baud}")


def _pins(page: Page, pins: Sequence[Pin], compatible: str, *, needed: bool) -> None:
    for pin in pins:
        page.add("", "[[pin]]", f'port = "{pin.port}"', f"pin = {pin.pin}", f"alternate = {pin.alternate}")
    if not pins and needed:
        page.add("")
        page.lacks(
            "pin",
            f"the pins of the serial line{f' ({compatible})' if compatible else ''}, where there is a choice",
            *("[[pin]]", 'port = "gpioa"', "pin = 9", "alternate = 7"),
        )


def _rest(page: Page, facts: Facts, chip: Chip | None, twin: Board | None, boards: Sequence[Board]) -> None:
    """Signals, probes and emulators: of the same board, else what can be told."""
    for signal in twin.signals if twin else ():
        page.add(
            "", "[[signal]]", f'role = "{signal.role}"', f'port = "{signal.port}"', f"pin = {signal.pin}"
        )
    for probe in (twin.probes if twin else ()) or facts.probes:
        page.add("", "[[probe]]", f'tool = "{probe.tool}"', f'config = "{probe.config}"')
        page.add(*([f'format = "{probe.format}"'] if probe.format else []))
        page.add(*([f"family = {probe.family:#x}"] if probe.family else []))
    relatives = [board for board in boards if chip is not None and board.chip.name == chip.name]
    emulated = any(choice.kind == "unicorn" for board in relatives for choice in board.emulators)
    if emulated:
        page.add("", "[[emulator]]", 'kind = "unicorn"')
    elif twin is not None:
        for choice in twin.emulators:
            page.add("", "[[emulator]]", f'kind = "{choice.kind}"')
            page.add(*([f'machine = "{choice.machine}"'] if choice.machine else []))
