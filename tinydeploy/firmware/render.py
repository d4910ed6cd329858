"""A board's data as C and as a linker script. Templates see only numbers and checked words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2

from tinydeploy.boards import Action, Block, Board, Chip, Kind, RegisterStep, Slots

CORE_VECTORS = 16
_SCS_BYTES = 0x1000
_BLOCK_BYTES = 0x400
_OUTPUTS = ("td_board_config.h", "td_board_config.c", "board.ld")


@dataclass(frozen=True, slots=True)
class _Range:
    start: str
    size: str
    writable: str
    comment: str


@dataclass(frozen=True, slots=True)
class _Step:
    address: str
    mask: str
    value: str
    tries: int
    size_bytes: int
    comment: str


def render_board(board: Board, arena_region: str, out_dir: Path, *, slots: bool = False) -> None:
    """Write ``td_board_config.h``, ``td_board_config.c`` and ``board.ld`` into ``out_dir``.

    ``slots``: also where the chip's slots lie.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("tinydeploy.firmware"),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,
    )
    values = {
        **_config(board),
        **_memory(board, arena_region),
        "slots": _slots(board.chip, board.chip.slots) if slots and board.chip.slots else None,
    }
    out_dir.mkdir(parents=True, exist_ok=True)
    for name in _OUTPUTS:
        text = environment.get_template(f"{name}.j2").render(values)
        (out_dir / name).write_text(text, encoding="utf-8", newline="\n")


def _config(board: Board) -> dict[str, object]:
    chip = board.chip
    assert board.uart is not None
    assert chip.counter is not None
    uart = chip.block(board.uart.block)
    clock = board.clock
    counter = chip.block(chip.counter.block)
    controller = chip.interrupt_controller
    used = [uart, counter, *(chip.block(name) for name in board.ports)]
    return {
        "source": f"the files of board {board.name} and chip {chip.name}",
        "board": board.name,
        "reset_hz": chip.reset_hz,
        "core_hz": board.clock_hz,
        "caches": int(chip.caches),
        "open_eighths": f"0x{open_eighths(chip):02X}u",
        "uart_base": _hex(uart.base),
        "interrupt_count": chip.interrupts,
        "interrupts_base": _hex(chip.block(controller).base if controller else 0),
        "uart_irq": uart.irq,
        "uart_baud": board.uart.baud,
        "uart_hz": _bus_hz(board, uart),
        "counter_base": _hex(counter.base),
        "counter_per_tick": chip.counter.per_tick,
        "clock_steps": _steps(clock.steps if clock else ()),
        "fallback_steps": _steps(clock.fallback if clock else ()),
        "enable_steps": _steps([step for block in used for step in block.enable]),
        "reset_steps": _steps(chip.reset),
        "pins": [
            {"port": _hex(chip.block(pin.port).base), "pin": pin.pin, "alternate": pin.alternate}
            for pin in board.pins
        ],
        "signals": [
            {
                "role": f"TD_SIGNAL_{signal.role.upper()}",
                "port": _hex(chip.block(signal.port).base),
                "pin": signal.pin,
            }
            for signal in board.signals
        ],
        "ranges": _ranges(chip),
        "vectors": _vectors(chip, uart),
    }


def open_eighths(chip: Chip) -> int:
    """A bit for each 512 MiB of the address space: internal ones, the core's own, and those that are used."""
    used = [(region.origin, region.end) for region in chip.regions]
    used += [(block.base, block.base + _BLOCK_BYTES) for block in chip.blocks]
    internal = 0b1000_0111
    return internal | sum(
        1 << index
        for index in range(3, 7)
        if any(low < (index + 1) << 29 and high > index << 29 for low, high in used)
    )


def _memory(board: Board, arena_region: str) -> dict[str, object]:
    layout = board.chip.layout
    assert layout is not None
    return {
        "regions": [
            {
                "name": region.name,
                "access": "rx" if region.kind is Kind.FLASH else "rwx",
                "origin": f"{region.origin:#010x}",
                "size": f"{region.size:#x}",
            }
            for region in board.chip.regions
        ],
        "code": layout.code,
        "constants": layout.constants,
        "view": board.chip.region(layout.constants).view_of is not None,
        "data": layout.data,
        "boot": layout.boot,
        "vectors_offset": f"{layout.vectors_offset:#x}" if layout.vectors_offset else "",
        "arena": arena_region,
        "stack_bytes": layout.stack_bytes,
    }


def _slots(chip: Chip, slots: Slots) -> dict[str, object]:
    return {
        "base": _hex(chip.block(slots.block).base),
        "size": slots.size,
        "erase_bytes": slots.erase_bytes,
        "program_bytes": slots.program_bytes,
        "places": [{"base": _hex(place.origin), "unit": place.unit} for place in slots.places],
    }


def _bus_hz(board: Board, block: Block) -> int:
    if board.clock is None or block.bus is None:
        return board.clock_hz
    return board.clock.bus_hz[block.bus]


def _vectors(chip: Chip, uart: Block) -> list[str]:
    """The vector table: stack pointer, reset, the core's exceptions, the chip's interrupts.

    Empty where an interrupt controller tells one trap handler who called.
    """
    if chip.interrupt_controller is not None:
        return []
    table = ["td_fault_entry"] * (CORE_VECTORS + chip.interrupts)
    table[0] = "td_stack_high"
    table[1] = "Reset_Handler"
    assert uart.irq is not None
    table[CORE_VECTORS + uart.irq] = "td_uart_isr"
    return table


def _ranges(chip: Chip) -> list[_Range]:
    viewed = {region.view_of for region in chip.regions}
    memories = [
        _Range(_hex(region.origin), _hex(region.size), str(region.kind is Kind.RAM).lower(), region.name)
        for region in chip.regions
        if region.name not in viewed
    ]
    blocks = [
        _Range(
            _hex(block.base),
            _hex(_SCS_BYTES if block.base >= 0xE0000000 else _BLOCK_BYTES),
            "true",
            block.name,
        )
        for block in chip.blocks
        if block.base != 0
    ]
    return memories + blocks


def _steps(steps: Sequence[RegisterStep]) -> list[_Step]:
    return [
        _Step(
            _hex(step.address),
            _hex(step.mask),
            _hex(step.value),
            step.tries if step.action is Action.WAIT else 0,
            step.size_bytes,
            step.comment,
        )
        for step in steps
    ]


def _hex(value: int) -> str:
    return f"0x{value:08X}u"
