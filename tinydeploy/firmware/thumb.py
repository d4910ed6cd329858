"""Thumb-2 instructions as far as costs and call graphs need them: class, flow of control, use of the stack.

Encodings from the Armv7-M Architecture Reference Manual, A5.2 (16 bits) and A5.3 (32 bits), A6 for the FPU.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from tinydeploy.firmware.instruction import Class, Flow, Instruction

_PC = 15
_LR = 14
_SP = 13


def is_wide(first: int) -> bool:
    """Whether a halfword begins a 32-bit instruction."""
    return first >= 0xE800


def decode(first: int, second: int = 0) -> Instruction:
    """The instruction that the halfwords ``first`` and ``second`` encode; ``second`` counts for wide ones."""
    return _wide(first, second) if is_wide(first) else _narrow(first)


def sweep(code: bytes, address: int) -> Iterator[tuple[int, Instruction]]:
    """Every instruction of ``code``, which holds nothing else, with its address."""
    halves = struct.unpack(f"<{len(code) // 2}H", code[: len(code) // 2 * 2])
    at = 0
    while at < len(halves):
        wide = is_wide(halves[at])
        if wide and at + 1 == len(halves):
            return
        instruction = decode(halves[at], halves[at + 1] if wide else 0)
        yield address + 2 * at, instruction
        at += instruction.size // 2


def _narrow(code: int) -> Instruction:
    top = code >> 12
    if code >> 10 == 0b010001:
        return _special(code)
    if code >> 11 == 0b01001:
        return Instruction(2, Class.LOAD)
    if top == 0b0101:
        return Instruction(2, Class.STORE if code >> 9 & 7 < 3 else Class.LOAD)
    if top in (0b0110, 0b0111, 0b1000, 0b1001):
        return Instruction(2, Class.LOAD if code >> 11 & 1 else Class.STORE)
    if top == 0b1011:
        return _miscellaneous(code)
    if top == 0b1100:
        return Instruction(2, Class.MULTIPLE, words=(code & 0xFF).bit_count())
    if top == 0b1101 and code >> 8 & 0xF < 14:
        return Instruction(2, flow=Flow.JUMP_IF, offset=4 + _signed(code & 0xFF, 8) * 2)
    if code >> 11 == 0b11100:
        return Instruction(2, flow=Flow.JUMP, offset=4 + _signed(code & 0x7FF, 11) * 2)
    return Instruction(2)


def _special(code: int) -> Instruction:
    """ADD, CMP, MOV with high registers; BX and BLX."""
    operation, source = code >> 8 & 3, code >> 3 & 0xF
    target = code >> 4 & 8 | code & 7
    if operation == 3:
        if code & 0x80:
            return Instruction(2, flow=Flow.CALL_REGISTER)
        return Instruction(2, flow=Flow.RETURN if source == _LR else Flow.JUMP_REGISTER)
    if operation != 1 and target == _PC:
        returns = operation == 2 and source == _LR
        return Instruction(2, flow=Flow.RETURN if returns else Flow.TABLE)
    return Instruction(2, moves_stack=operation != 1 and target == _SP)


def _miscellaneous(code: int) -> Instruction:
    if code & 0xFF80 == 0xB080:
        return Instruction(2, pushed=(code & 0x7F) * 4)
    if code & 0xF500 == 0xB100:  # CBZ, CBNZ
        return Instruction(2, flow=Flow.JUMP_IF, offset=4 + (code >> 3 & 0x40 | code >> 2 & 0x3E))
    if code & 0xFE00 == 0xB400:
        words = (code & 0x1FF).bit_count()
        return Instruction(2, Class.MULTIPLE, words=words, pushed=4 * words)
    if code & 0xFE00 == 0xBC00:
        flow = Flow.RETURN if code & 0x100 else Flow.NEXT
        return Instruction(2, Class.MULTIPLE, flow, words=(code & 0x1FF).bit_count())
    if code & 0xFF00 == 0xBF00 and code & 0xF:
        return Instruction(2, Class.IT)
    return Instruction(2)


def _wide(first: int, second: int) -> Instruction:
    if first & 0xEC00 == 0xEC00:
        return _coprocessor(first, second)
    if first & 0xFE40 == 0xE800:
        return _load_store_multiple(first, second)
    if first & 0xFE40 == 0xE840:
        return _dual(first, second)
    if first & 0xF800 == 0xF000 and second & 0x8000:
        return _branch(first, second)
    if first & 0xFF10 == 0xF800:
        pushed = second & 0xFF if first & 0xF == _SP and second & 0xF00 == 0xD00 else 0
        return Instruction(4, Class.STORE, pushed=pushed)
    if first & 0xFE10 == 0xF810:
        return _load(first, second)
    if first & 0xFFD0 == 0xFB90:
        return Instruction(4, Class.DIVIDE)
    return _data(first, second)


def _load_store_multiple(first: int, second: int) -> Instruction:
    words = second.bit_count()
    loads, base, down = first >> 4 & 1, first & 0xF, first >> 8 & 1
    if loads:
        flow = Flow.NEXT
        if second >> _PC:
            flow = Flow.RETURN if base == _SP else Flow.TABLE
        return Instruction(4, Class.MULTIPLE, flow, words=words)
    pushes = down and base == _SP and first >> 5 & 1
    return Instruction(4, Class.MULTIPLE, words=words, pushed=4 * words if pushes else 0)


def _dual(first: int, second: int) -> Instruction:
    """LDRD, STRD, exclusive accesses, TBB and TBH."""
    loads = first >> 4 & 1
    if first & 0x0120 == 0:  # neither pre-indexed nor writing back: not a double word
        if first & 0xFFF0 == 0xE8D0 and second & 0xFFE0 == 0xF000:
            return Instruction(4, Class.LOAD, Flow.TABLE)
        return Instruction(4, Class.LOAD if loads else Class.STORE)
    pushes = not loads and first & 0x01A0 == 0x0120 and first & 0xF == _SP
    return Instruction(4, Class.MULTIPLE, words=2, pushed=(second & 0xFF) * 4 if pushes else 0)


def _branch(first: int, second: int) -> Instruction:
    sign, j1, j2 = first >> 10 & 1, second >> 13 & 1, second >> 11 & 1
    if second & 0x1000:
        high = (1 ^ j1 ^ sign) << 23 | (1 ^ j2 ^ sign) << 22 | (first & 0x3FF) << 12
        offset = 4 + _signed(sign << 24 | high | (second & 0x7FF) << 1, 25)
        return Instruction(4, flow=Flow.CALL if second & 0x4000 else Flow.JUMP, offset=offset)
    if second & 0x5000 == 0 and first >> 6 & 0xE != 0xE:
        high = j2 << 19 | j1 << 18 | (first & 0x3F) << 12
        offset = 4 + _signed(sign << 20 | high | (second & 0x7FF) << 1, 21)
        return Instruction(4, flow=Flow.JUMP_IF, offset=offset)
    writes_stack = first & 0xFFE0 == 0xF380 and second & 0xFF in (8, 9)  # MSR to MSP or PSP
    return Instruction(4, moves_stack=writes_stack)


def _load(first: int, second: int) -> Instruction:
    if second >> 12 == _PC:
        if first >> 5 & 3 != 2:
            return Instruction(4)  # PLD, PLI
        pops = first == 0xF85D and second & 0xF00 == 0xB00
        return Instruction(4, Class.LOAD, Flow.RETURN if pops else Flow.TABLE)
    return Instruction(4, Class.LOAD)


def _data(first: int, second: int) -> Instruction:
    """Data processing; of interest is what it does to the stack pointer."""
    if second >> 8 & 0xF != _SP or first & 0xFE00 == 0xFA00 or first & 0xFF00 == 0xFB00:
        return Instruction(4)
    constant = (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | second & 0xFF
    if first & 0xFBFF in (0xF10D, 0xF20D):  # ADD, ADDW: gives back
        return Instruction(4)
    if first & 0xFBFF == 0xF1AD:
        return Instruction(4, pushed=expand_constant(constant))
    if first & 0xFBFF == 0xF2AD:
        return Instruction(4, pushed=constant)
    return Instruction(4, moves_stack=True)


def expand_constant(coded: int) -> int:
    """ThumbExpandImm (A5.3.2): the 32-bit value of a 12-bit modified constant."""
    low = coded & 0xFF
    if coded >> 10 == 0:
        return (low, low * 0x0001_0001, low * 0x0100_0100, low * 0x0101_0101)[coded >> 8 & 3]
    value, turn = 0x80 | coded & 0x7F, coded >> 7 & 0x1F
    return (value >> turn | value << (32 - turn)) & 0xFFFF_FFFF


def _coprocessor(first: int, second: int) -> Instruction:
    """The FPU; other coprocessors count as if they were it."""
    if first & 0xFE00 == 0xEC00 and first & 0xFFE0 != 0xEC40:
        loads, words = first >> 4 & 1, second & 0xFF
        if first & 0x0120 == 0x0100:
            return Instruction(4, Class.LOAD if loads else Class.STORE)
        pushes = first & 0xFFBF == 0xED2D
        return Instruction(4, Class.MULTIPLE, words=words, pushed=4 * words if pushes else 0)
    divides = first & 0xFFB0 == 0xEE80 and second & 0x0E50 == 0x0A00
    roots = first & 0xFFBF == 0xEEB1 and second & 0x0ED0 == 0x0AC0
    return Instruction(4, Class.FLOAT_DIVIDE if divides or roots else Class.FLOAT)


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) else value
