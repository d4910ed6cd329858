"""The Thumb decoder: encodings that the assembler made, and every instruction of a real image."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tinydeploy import demo
from tinydeploy.boards import load_board
from tinydeploy.build import compile_graph
from tinydeploy.device import build_model
from tinydeploy.firmware.instruction import Class, Flow, Instruction
from tinydeploy.firmware.thumb import decode, expand_constant, sweep
from tinydeploy.frontends import load
from tinydeploy.kernels.targets import target_of
from tinydeploy.toolchain import cpu_spec, select

OBJDUMP = "arm-none-eabi-objdump"

ALU, LOAD, STORE, MULTIPLE = Class.ALU, Class.LOAD, Class.STORE, Class.MULTIPLE
N16, W32 = 2, 4

ENCODINGS = [
    ("adds r0, r1, #1", 0x1C48, 0, Instruction(N16)),
    ("muls r0, r1", 0x4348, 0, Instruction(N16)),
    ("mul.w r8, r1, r2", 0xFB01, 0xF802, Instruction(W32)),
    ("smlad r0, r1, r2, r3", 0xFB21, 0x3002, Instruction(W32)),
    ("smull r0, r1, r2, r3", 0xFB82, 0x0103, Instruction(W32)),
    ("sxtb16 r0, r1", 0xFA2F, 0xF081, Instruction(W32)),
    ("ssat r0, #8, r1, asr #4", 0xF321, 0x1007, Instruction(W32)),
    ("ldr r0, [r1, #4]", 0x6848, 0, Instruction(N16, LOAD)),
    ("ldrsb r0, [r1, r2]", 0x5688, 0, Instruction(N16, LOAD)),
    ("ldr r0, [pc, #8]", 0x4802, 0, Instruction(N16, LOAD)),
    ("ldr.w r0, [r1, #400]", 0xF8D1, 0x0190, Instruction(W32, LOAD)),
    ("ldrh.w r0, [r1], #2", 0xF831, 0x0B02, Instruction(W32, LOAD)),
    ("strb r0, [r1, #3]", 0x70C8, 0, Instruction(N16, STORE)),
    ("str.w r0, [r1, #400]", 0xF8C1, 0x0190, Instruction(W32, STORE)),
    ("strh r0, [r1, r2]", 0x5288, 0, Instruction(N16, STORE)),
    ("ldmia r0!, {r1, r2, r3}", 0xC80E, 0, Instruction(N16, MULTIPLE, words=3)),
    ("ldmia.w r0!, {r4, r5, r8, r9}", 0xE8B0, 0x0330, Instruction(W32, MULTIPLE, words=4)),
    ("stmia r0!, {r1, r2}", 0xC006, 0, Instruction(N16, MULTIPLE, words=2)),
    ("stmdb r0!, {r4-r11}", 0xE920, 0x0FF0, Instruction(W32, MULTIPLE, words=8)),
    ("ldrd r0, r1, [r2]", 0xE9D2, 0x0100, Instruction(W32, MULTIPLE, words=2)),
    ("ldrd r0, r1, [r2], #8", 0xE8F2, 0x0102, Instruction(W32, MULTIPLE, words=2)),
    ("strd r0, r1, [r2, #8]", 0xE9C2, 0x0102, Instruction(W32, MULTIPLE, words=2)),
    ("push {r4, r5, lr}", 0xB530, 0, Instruction(N16, MULTIPLE, words=3, pushed=12)),
    ("push.w {r4-r11, lr}", 0xE92D, 0x4FF0, Instruction(W32, MULTIPLE, words=9, pushed=36)),
    ("pop {r4, pc}", 0xBD10, 0, Instruction(N16, MULTIPLE, Flow.RETURN, words=2)),
    ("pop.w {r4-r11, pc}", 0xE8BD, 0x8FF0, Instruction(W32, MULTIPLE, Flow.RETURN, words=9)),
    ("pop {r4, r5}", 0xBC30, 0, Instruction(N16, MULTIPLE, words=2)),
    ("udiv r0, r1, r2", 0xFBB1, 0xF0F2, Instruction(W32, Class.DIVIDE)),
    ("sdiv r0, r1, r2", 0xFB91, 0xF0F2, Instruction(W32, Class.DIVIDE)),
    ("it eq", 0xBF08, 0, Instruction(N16, Class.IT)),
    ("itte ne", 0xBF1A, 0, Instruction(N16, Class.IT)),
    ("nop", 0xBF00, 0, Instruction(N16)),
    ("tbb [pc, r0]", 0xE8DF, 0xF000, Instruction(W32, LOAD, Flow.TABLE)),
    ("tbh [pc, r0, lsl #1]", 0xE8DF, 0xF010, Instruction(W32, LOAD, Flow.TABLE)),
    ("bx lr", 0x4770, 0, Instruction(N16, flow=Flow.RETURN)),
    ("bx r3", 0x4718, 0, Instruction(N16, flow=Flow.JUMP_REGISTER)),
    ("blx r3", 0x4798, 0, Instruction(N16, flow=Flow.CALL_REGISTER)),
    ("b.n .-118", 0xE7C3, 0, Instruction(N16, flow=Flow.JUMP, offset=-118)),
    ("b.w .-120", 0xF7FF, 0xBFC2, Instruction(W32, flow=Flow.JUMP, offset=-120)),
    ("beq.n .-124", 0xD0C0, 0, Instruction(N16, flow=Flow.JUMP_IF, offset=-124)),
    ("beq.w .-126", 0xF43F, 0xAFBF, Instruction(W32, flow=Flow.JUMP_IF, offset=-126)),
    ("cbnz r0, .+68", 0xBB00, 0, Instruction(N16, flow=Flow.JUMP_IF, offset=68)),
    ("bl .-130", 0xF7FF, 0xFFBD, Instruction(W32, flow=Flow.CALL, offset=-130)),
    ("bl .+114", 0xF000, 0xF837, Instruction(W32, flow=Flow.CALL, offset=114)),
    ("ldr pc, [sp], #4", 0xF85D, 0xFB04, Instruction(W32, LOAD, Flow.RETURN)),
    ("ldr pc, [sp], #8", 0xF85D, 0xFB08, Instruction(W32, LOAD, Flow.RETURN)),
    ("ldr.w pc, [r0, r1, lsl #2]", 0xF850, 0xF021, Instruction(W32, LOAD, Flow.TABLE)),
    ("mov pc, r0", 0x4687, 0, Instruction(N16, flow=Flow.TABLE)),
    ("mov pc, lr", 0x46F7, 0, Instruction(N16, flow=Flow.RETURN)),
    ("sub sp, #24", 0xB086, 0, Instruction(N16, pushed=24)),
    ("add sp, #24", 0xB006, 0, Instruction(N16)),
    ("sub.w sp, sp, #4096", 0xF5AD, 0x5D80, Instruction(W32, pushed=4096)),
    ("subw sp, sp, #1044", 0xF2AD, 0x4D14, Instruction(W32, pushed=1044)),
    ("str r4, [sp, #-8]!", 0xF84D, 0x4D08, Instruction(W32, STORE, pushed=8)),
    ("str lr, [sp, #-4]!", 0xF84D, 0xED04, Instruction(W32, STORE, pushed=4)),
    ("strd r4, r5, [sp, #-16]!", 0xE96D, 0x4504, Instruction(W32, MULTIPLE, words=2, pushed=16)),
    ("vpush {d8-d9}", 0xED2D, 0x8B04, Instruction(W32, MULTIPLE, words=4, pushed=16)),
    ("vpush {s16}", 0xED2D, 0x8A01, Instruction(W32, MULTIPLE, words=1, pushed=4)),
    ("mov sp, r2", 0x4695, 0, Instruction(N16, moves_stack=True)),
    ("add sp, r3", 0x449D, 0, Instruction(N16, moves_stack=True)),
    ("sub.w sp, sp, r3", 0xEBAD, 0x0D03, Instruction(W32, moves_stack=True)),
    ("msr MSP, r0", 0xF380, 0x8808, Instruction(W32, moves_stack=True)),
    ("vldr s0, [r0]", 0xED90, 0x0A00, Instruction(W32, LOAD)),
    ("vstr s0, [r0]", 0xED80, 0x0A00, Instruction(W32, STORE)),
    ("vldmia r0!, {s0-s3}", 0xECB0, 0x0A04, Instruction(W32, MULTIPLE, words=4)),
    ("vadd.f32 s0, s1, s2", 0xEE30, 0x0A81, Instruction(W32, Class.FLOAT)),
    ("vmov r0, s0", 0xEE10, 0x0A10, Instruction(W32, Class.FLOAT)),
    ("vmov r0, r1, d0", 0xEC51, 0x0B10, Instruction(W32, Class.FLOAT)),
    ("vdiv.f32 s0, s1, s2", 0xEE80, 0x0A81, Instruction(W32, Class.FLOAT_DIVIDE)),
    ("vsqrt.f32 s0, s1", 0xEEB1, 0x0AE0, Instruction(W32, Class.FLOAT_DIVIDE)),
    ("vcvt.s32.f32 s0, s1", 0xEEBD, 0x0AE0, Instruction(W32, Class.FLOAT)),
    ("ldrex r0, [r1]", 0xE851, 0x0F00, Instruction(W32, LOAD)),
    ("strex r0, r1, [r2]", 0xE842, 0x1000, Instruction(W32, STORE)),
    ("pld [r0]", 0xF890, 0xF000, Instruction(W32)),
    ("dsb sy", 0xF3BF, 0x8F4F, Instruction(W32)),
    ("cmp.w sp, r0", 0xEBBD, 0x0F00, Instruction(W32)),
    ("bkpt 0", 0xBE00, 0, Instruction(N16)),
]


@pytest.mark.parametrize(("text", "first", "second", "wanted"), ENCODINGS, ids=[e[0] for e in ENCODINGS])
def test_decode(text: str, first: int, second: int, wanted: Instruction) -> None:
    assert decode(first, second) == wanted, text


def test_sweep_stops_before_half_an_instruction() -> None:
    code = bytes.fromhex("481c 30b5 b0e8".replace(" ", ""))
    assert [(address, found.size) for address, found in sweep(code, 0x100)] == [(0x100, 2), (0x102, 2)]


@pytest.mark.parametrize(
    ("coded", "value"),
    [
        (0x0AB, 0xAB),
        (0x1AB, 0x00AB_00AB),
        (0x2AB, 0xAB00_AB00),
        (0x3AB, 0xABAB_ABAB),
        (0x4FF, 0x7F80_0000),
        (0xFFF, 0x0000_01FE),
    ],
)
def test_constants(coded: int, value: int) -> None:
    """Armv7-M ARM, table A5-11."""
    assert expand_constant(coded) == value


def test_every_instruction_of_an_image_as_binutils_see_it(tmp_path: Path) -> None:
    """Sizes, loads, stores, jumps and their targets, pushes: of some 5,000 instructions."""
    if shutil.which(OBJDUMP) is None:
        pytest.skip(f"{OBJDUMP} is not installed")
    compiled = compile_graph(load(demo.model_path()), target_of("cortex-m4"))
    built = build_model(compiled, load_board("qemu-m4"), select("gcc", cpu_spec("cortex-m4")), tmp_path)
    done = subprocess.run(
        [OBJDUMP, "-d", str(built.firmware.elf)], capture_output=True, text=True, check=True
    )
    line = re.compile(r"\s*([0-9a-f]+):\s+([0-9a-f]{4})(?: ([0-9a-f]{4}))?\s+\t([a-z][\w.]*)\s*(.*)")
    count = 0
    for match in filter(None, map(line.match, done.stdout.splitlines())):
        address, mnemonic, operands = int(match[1], 16), match[4].split(".")[0], match[5]
        found = decode(int(match[2], 16), int(match[3] or "0", 16))
        assert found.size == (4 if match[3] else 2), match[0]
        assert found.kind is wanted_class(mnemonic), match[0]
        if target := re.search(r"\b([0-9a-f]+) <", operands) if mnemonic[0] in "bc" else None:
            assert address + found.offset == int(target[1], 16), match[0]
            assert found.flow is wanted_flow(mnemonic), match[0]
        if pushed := re.match(r"sp, (?:sp, )?#(\d+)", operands) if mnemonic.startswith("sub") else None:
            assert found.pushed == int(pushed[1]), match[0]
        count += 1
    assert count > 3000


def wanted_class(mnemonic: str) -> Class:
    condition = "(?:eq|ne|cs|cc|mi|pl|vs|vc|hi|ls|ge|lt|gt|le)?"
    kinds = {
        r"(ldr|vldr|tb)(b|h|sb|sh|ex)?": LOAD,
        r"(str|vstr)(b|h|ex)?": STORE,
        r"ldm\w*?|stm\w*?|push|pop|ldrd|strd|vpush|vpop|vldm\w*?|vstm\w*?": MULTIPLE,
        r"[su]div": Class.DIVIDE,
        r"vdiv|vsqrt": Class.FLOAT_DIVIDE,
        r"v\w+?": Class.FLOAT,
    }
    if re.fullmatch("it[te]*", mnemonic):
        return Class.IT
    for pattern, kind in kinds.items():
        if re.fullmatch(f"(?:{pattern}){condition}", mnemonic):
            return kind
    return ALU


def wanted_flow(mnemonic: str) -> Flow:
    return {"b": Flow.JUMP, "bl": Flow.CALL}.get(mnemonic, Flow.JUMP_IF)
