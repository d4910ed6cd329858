"""The RV32 decoder: encodings that the assembler made."""

from __future__ import annotations

import pytest

from tinydeploy.firmware.instruction import Flow, Instruction
from tinydeploy.firmware.riscv import sweep

ENCODINGS = [
    ("jal ra, .+120", "078000ef", Instruction(4, flow=Flow.CALL, offset=120)),
    ("jal t0, .+116", "074002ef", Instruction(4, flow=Flow.CALL, offset=116)),
    ("jal zero, .-10", "ff7ff06f", Instruction(4, flow=Flow.JUMP, offset=-10)),
    ("beq a0, a1, .-18", "feb507e3", Instruction(4, flow=Flow.JUMP_IF, offset=-18)),
    ("beqz a0, .-22", "fe0505e3", Instruction(4, flow=Flow.JUMP_IF, offset=-22)),
    ("addi sp, sp, -48", "fd010113", Instruction(4, pushed=48)),
    ("addi sp, sp, 48", "03010113", Instruction(4)),
    ("addi sp, s0, -16", "ff040113", Instruction(4, moves_stack=True)),
    ("sub sp, sp, t0", "40510133", Instruction(4, moves_stack=True)),
    ("lw sp, 4(a0)", "00452103", Instruction(4, moves_stack=True)),
    ("lui sp, 1", "00001137", Instruction(4, moves_stack=True)),
    ("csrrw sp, mscratch, sp", "34011173", Instruction(4, moves_stack=True)),
    ("sw sp, 4(a0)", "00252223", Instruction(4)),
    ("mret", "30200073", Instruction(4, flow=Flow.RETURN)),
    ("jalr zero, 0(ra)", "00008067", Instruction(4, flow=Flow.RETURN)),
    ("jalr zero, 0(a5)", "00078067", Instruction(4, flow=Flow.JUMP_REGISTER)),
    ("jalr ra, 0(a5)", "000780e7", Instruction(4, flow=Flow.CALL_REGISTER)),
    ("c.jal .-90", "375d", Instruction(2, flow=Flow.CALL, offset=-90)),
    ("c.j .-92", "b755", Instruction(2, flow=Flow.JUMP, offset=-92)),
    ("c.beqz a0, .-94", "d14d", Instruction(2, flow=Flow.JUMP_IF, offset=-94)),
    ("c.bnez a0, .+24", "ed01", Instruction(2, flow=Flow.JUMP_IF, offset=24)),
    ("c.addi16sp sp, -496", "7141", Instruction(2, pushed=496)),
    ("c.addi16sp sp, 496", "617d", Instruction(2)),
    ("c.addi sp, -16", "1141", Instruction(2, pushed=16)),
    ("c.jr ra", "8082", Instruction(2, flow=Flow.RETURN)),
    ("c.jr a5", "8782", Instruction(2, flow=Flow.JUMP_REGISTER)),
    ("c.jalr a5", "9782", Instruction(2, flow=Flow.CALL_REGISTER)),
    ("c.mv sp, t0", "8116", Instruction(2, moves_stack=True)),
    ("c.add sp, t0", "9116", Instruction(2, moves_stack=True)),
    ("c.lwsp sp, 4(sp)", "4112", Instruction(2, moves_stack=True)),
    ("c.swsp ra, 4(sp)", "c206", Instruction(2)),
    ("c.mv a0, sp", "850a", Instruction(2)),
]


def decoded(*words: str) -> list[tuple[int, Instruction]]:
    return list(sweep(b"".join(bytes.fromhex(word)[::-1] for word in words), 0x42 - 4))


@pytest.mark.parametrize(("text", "code", "wanted"), ENCODINGS, ids=[e[0] for e in ENCODINGS])
def test_decode(text: str, code: str, wanted: Instruction) -> None:
    assert decoded(code) == [(0x3E, wanted)], text


@pytest.mark.parametrize(
    ("base", "jump", "wanted"),
    [
        ("00001097", "010080e7", Instruction(4, flow=Flow.CALL, offset=0x104E - 0x42)),  # auipc ra, 1
        ("fffff317", "ff830067", Instruction(4, flow=Flow.JUMP, offset=-0x1000 - 8 - 4)),  # auipc t1, -1
        ("00001097", "000780e7", Instruction(4, flow=Flow.CALL_REGISTER)),  # another register
        ("00402117", "ff010113", Instruction(4, moves_stack=True)),  # la sp, end: nothing is pushed
    ],
)
def test_auipc_and_what_follows(base: str, jump: str, wanted: Instruction) -> None:
    assert decoded(base, jump)[1] == (0x42, wanted)


def test_sweep_stops_before_half_an_instruction() -> None:
    assert [found.size for _, found in decoded("8082", "00ef")] == [2]
