"""The class-cycle sum of a Cortex-M4: executed blocks, priced by instruction class, zero wait states.

Not cycles of a real core, which also waits for flash and buses, but a figure that does not reward one
instruction that does the work of many. The table, from the Cortex-M4 Technical Reference Manual, 3.3: ALU and
multiply 1; load 2, or 1 right behind another single load or store; store 1; LDM, POP, LDRD, STM, PUSH, STRD
1 + words; IT 0; divide 7; FPU 1, its division and square root 14; and 2 more wherever the next instruction is
not the one behind: a taken branch, call or return is 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tinydeploy.errors import ToolError
from tinydeploy.firmware.image import Image, Segment
from tinydeploy.firmware.instruction import Class, Instruction
from tinydeploy.firmware.thumb import sweep

CORES = ("cortex-m4",)
"""The cores that the table is for."""

_CYCLES = {
    Class.ALU: 1,
    Class.LOAD: 2,
    Class.STORE: 1,
    Class.MULTIPLE: 1,
    Class.DIVIDE: 7,
    Class.IT: 0,
    Class.FLOAT: 1,
    Class.FLOAT_DIVIDE: 14,
}
_JUMP_CYCLES = 2
_SINGLE = (Class.LOAD, Class.STORE)


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


def cost_of(image: Image, blocks: Sequence[Block]) -> Cost:
    """Price executed blocks of an image; raises ToolError for code that the image does not hold."""
    return cost_of_code({(b.address, b.size): _code(image, b.address, b.size) for b in blocks}, blocks)


def cost_of_code(code: Mapping[tuple[int, int], bytes], blocks: Iterable[Block]) -> Cost:
    """The same with the bytes of each block given by address and size."""
    decoded = {key: [found for _, found in sweep(data, key[0])] for key, data in code.items()}
    last = {address + size: decoded[address, size][-1] for address, size in decoded}
    instructions = cycles = 0
    for block in blocks:
        found = decoded[block.address, block.size]
        instructions += block.count * len(found)
        cycles += block.count * straight_cycles(found) + block.taken * _JUMP_CYCLES
        before = last.get(block.address)
        if before is not None and before.kind in _SINGLE and found[0].kind is Class.LOAD:
            cycles -= block.through
    return Cost(instructions, cycles)


def straight_cycles(instructions: Sequence[Instruction]) -> int:
    """Cycles of instructions in a row, as if no jump among them were taken."""
    total = 0
    before: Class | None = None
    for found in instructions:
        hidden = found.kind is Class.LOAD and before in _SINGLE
        total += _CYCLES[found.kind] + found.words - int(hidden)
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
