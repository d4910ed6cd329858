"""The class-cycle sum: executed blocks, priced by instruction class, zero wait states.

Not cycles of a real core, which also waits for flash and buses, but a figure that does not reward one
instruction that does the work of many. The tables are from section 3.3 of the cores' Technical Reference
Manuals. Cortex-M4 and M3: ALU and multiply 1; load 2, or 1 right behind another single load or store;
store 1; LDM, POP, LDRD, STM, PUSH, STRD 1 + words; IT 0; divide 7; FPU 1, its division and square root 14;
and 2 more wherever the next instruction is not the one behind: a taken branch, call or return is 3.
Cortex-M0 and M0+: loads and stores 2, with nothing hidden, the multiplier of one cycle; a jump is 3 on the
M0, 2 on the M0+.
Arm publishes no table for cores that issue two instructions at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tinydeploy.errors import ToolError
from tinydeploy.firmware.image import Image, Segment
from tinydeploy.firmware.instruction import Class, Instruction
from tinydeploy.firmware.thumb import sweep


@dataclass(frozen=True, slots=True)
class Table:
    """Cycles by class of instruction, what a jump adds, whether a load hides behind another access."""

    cycles: Mapping[Class, int]
    jump: int
    hides: bool


_MAINLINE = {
    Class.ALU: 1,
    Class.LOAD: 2,
    Class.STORE: 1,
    Class.MULTIPLE: 1,
    Class.DIVIDE: 7,
    Class.IT: 0,
    Class.FLOAT: 1,
    Class.FLOAT_DIVIDE: 14,
}
_BASELINE = {**_MAINLINE, Class.STORE: 2}
_SINGLE = (Class.LOAD, Class.STORE)

TABLES: Mapping[str, Table] = {
    "cortex-m0": Table(_BASELINE, jump=2, hides=False),
    "cortex-m0plus": Table(_BASELINE, jump=1, hides=False),
    "cortex-m3": Table(_MAINLINE, jump=2, hides=True),
    "cortex-m4": Table(_MAINLINE, jump=2, hides=True),
}
"""The cores whose manuals have a table."""


@dataclass(frozen=True, slots=True)
class Block:
    """Instructions that run one after the other, and how often they did.

    ``taken`` times the block was left by a jump, ``through`` times entered from the instruction before it.
    """

    address: int
    size: int
    count: int
    taken: int
    through: int


@dataclass(frozen=True, slots=True)
class Cost:
    """What some blocks cost together."""

    instructions: int
    cycle_sum: int


def cost_of(image: Image, blocks: Sequence[Block], table: Table) -> Cost:
    """Price executed blocks of an image; raises ToolError for code that the image does not hold."""
    code = {(b.address, b.size): _code(image, b.address, b.size) for b in blocks}
    return cost_of_code(code, blocks, table)


def cost_of_code(code: Mapping[tuple[int, int], bytes], blocks: Iterable[Block], table: Table) -> Cost:
    """The same with the bytes of each block given by address and size."""
    decoded = {key: [found for _, found in sweep(data, key[0])] for key, data in code.items()}
    last = {address + size: decoded[address, size][-1] for address, size in decoded}
    instructions = cycles = 0
    for block in blocks:
        found = decoded[block.address, block.size]
        instructions += block.count * len(found)
        cycles += block.count * straight_cycles(found, table) + block.taken * table.jump
        before = last.get(block.address)
        if table.hides and before is not None and before.kind in _SINGLE and found[0].kind is Class.LOAD:
            cycles -= block.through
    return Cost(instructions, cycles)


def straight_cycles(instructions: Sequence[Instruction], table: Table) -> int:
    """Cycles of instructions in a row, as if no jump among them were taken."""
    total = 0
    before: Class | None = None
    for found in instructions:
        hidden = table.hides and found.kind is Class.LOAD and before in _SINGLE
        total += table.cycles[found.kind] + found.words - int(hidden)
        before = found.kind
    return total


def _code(image: Image, address: int, size: int) -> bytes:
    segment = _segment(image.segments, address, size)
    return segment.data[address - segment.address :][:size]


def _segment(segments: Sequence[Segment], address: int, size: int) -> Segment:
    for segment in segments:
        if segment.address <= address and address + size <= segment.end:
            return segment
    raise ToolError(f"the emulator executed {address:#x}, where the image holds no code")
