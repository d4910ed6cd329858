"""RV32 instructions as far as call graphs need them: flow of control, use of the stack.

Encodings from "The RISC-V Instruction Set Manual, Volume I", chapters RV32I and C.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from tinydeploy.firmware.instruction import Flow, Instruction

_RA, _SP, _T0 = 1, 2, 5
_LINKS = (_RA, _T0)
_MRET = 0x3020_0073


@dataclass(frozen=True, slots=True)
class _Base:
    """What AUIPC has put into a register: an offset from its own address."""

    address: int
    register: int
    offset: int


def sweep(code: bytes, address: int) -> Iterator[tuple[int, Instruction]]:
    """Every instruction of ``code``, which holds nothing else, with its address.

    A jump through a register that the AUIPC before it has set is a direct one.
    """
    at = 0
    base: _Base | None = None
    while at + 2 <= len(code):
        (half,) = struct.unpack_from("<H", code, at)
        if half & 3 != 3:
            yield address + at, _compressed(half, address + at, base)
            base = None
            at += 2
            continue
        if at + 4 > len(code):
            return
        (word,) = struct.unpack_from("<I", code, at)
        yield address + at, _word(word, address + at, base)
        is_base = word & 0x7F == 0x17
        base = _Base(address + at, word >> 7 & 31, _signed(word >> 12, 20) << 12) if is_base else None
        at += 4


def _word(word: int, address: int, base: _Base | None) -> Instruction:
    opcode, target, source = word & 0x7F, word >> 7 & 31, word >> 15 & 31
    if opcode == 0x6F:
        bits = (
            word >> 31 << 20 | (word >> 12 & 0xFF) << 12 | (word >> 20 & 1) << 11 | (word >> 21 & 0x3FF) << 1
        )
        return Instruction(4, flow=Flow.CALL if target in _LINKS else Flow.JUMP, offset=_signed(bits, 21))
    if opcode == 0x67:
        return _through_register(4, target, source, _signed(word >> 20, 12), address, base)
    if opcode == 0x63:
        bits = word >> 31 << 12 | (word >> 7 & 1) << 11 | (word >> 25 & 0x3F) << 5 | (word >> 8 & 0xF) << 1
        return Instruction(4, flow=Flow.JUMP_IF, offset=_signed(bits, 13))
    if word == _MRET:
        return Instruction(4, flow=Flow.RETURN)
    if target != _SP or opcode in (0x23, 0x27, 0x0F):  # stores and fences have no target
        return Instruction(4)
    after_base = base is not None and base.register == _SP
    if opcode == 0x13 and word >> 12 & 7 == 0 and source == _SP and not after_base:
        return Instruction(4, pushed=max(0, -_signed(word >> 20, 12)))
    return Instruction(4, moves_stack=True)


def _compressed(half: int, address: int, base: _Base | None) -> Instruction:
    quadrant, function, target = half & 3, half >> 13, half >> 7 & 31
    if quadrant == 1:
        if function in (1, 5):
            flow = Flow.CALL if function == 1 else Flow.JUMP
            return Instruction(2, flow=flow, offset=_jump_offset(half))
        if function in (6, 7):
            return Instruction(2, flow=Flow.JUMP_IF, offset=_branch_offset(half))
        if function == 3 and target == _SP:
            return Instruction(2, pushed=max(0, -_stack_step(half)))
        if function == 0 and target == _SP:
            return Instruction(2, pushed=max(0, -_signed(half >> 7 & 0x20 | half >> 2 & 31, 6)))
        return Instruction(2, moves_stack=function == 2 and target == _SP)
    if quadrant == 2 and function == 4:
        if half >> 2 & 31 == 0:
            link = _RA if half >> 12 & 1 else 0
            return _through_register(2, link, target, 0, address, base)
        return Instruction(2, moves_stack=target == _SP)
    return Instruction(2, moves_stack=quadrant == 2 and function == 2 and target == _SP)


def _through_register(
    size: int, link: int, source: int, offset: int, address: int, base: _Base | None
) -> Instruction:
    calls = link in _LINKS
    if base is not None and base.register == source:
        flow = Flow.CALL if calls else Flow.JUMP
        return Instruction(size, flow=flow, offset=base.address + base.offset + offset - address)
    if calls:
        return Instruction(size, flow=Flow.CALL_REGISTER)
    return Instruction(size, flow=Flow.RETURN if source in _LINKS else Flow.JUMP_REGISTER)


def _jump_offset(half: int) -> int:
    """C.J and C.JAL: offset[11|4|9:8|10|6|7|3:1|5] in bits 12 to 2."""
    bits = (half >> 12 & 1) << 11 | (half >> 11 & 1) << 4 | (half >> 9 & 3) << 8 | (half >> 8 & 1) << 10
    bits |= (half >> 7 & 1) << 6 | (half >> 6 & 1) << 7 | (half >> 3 & 7) << 1 | (half >> 2 & 1) << 5
    return _signed(bits, 12)


def _branch_offset(half: int) -> int:
    """C.BEQZ and C.BNEZ: offset[8|4:3] in bits 12 to 10, offset[7:6|2:1|5] in bits 6 to 2."""
    bits = (half >> 12 & 1) << 8 | (half >> 10 & 3) << 3 | (half >> 5 & 3) << 6
    bits |= (half >> 3 & 3) << 1 | (half >> 2 & 1) << 5
    return _signed(bits, 9)


def _stack_step(half: int) -> int:
    """C.ADDI16SP: imm[9] in bit 12, imm[4|6|8:7|5] in bits 6 to 2."""
    bits = (half >> 12 & 1) << 9 | (half >> 6 & 1) << 4 | (half >> 5 & 1) << 6 | (half >> 3 & 3) << 7
    return _signed(bits | (half >> 2 & 1) << 5, 10)


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> (bits - 1) & 1 else value
