"""The class-cycle sum: hand-made blocks, and a function whose sum is known by hand, executed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tinydeploy.boards import load_board
from tinydeploy.emulate.chip import BlockTrace, UnicornEmulator
from tinydeploy.errors import ToolError
from tinydeploy.firmware import Block, Cost, Image, Sizes, build_firmware, read_image
from tinydeploy.firmware.cycles import TABLES, cost_of, cost_of_code
from tinydeploy.toolchain import available, cpu_spec, select

PROBE = Path(__file__).with_name("probe.c")


def price(text: str, count: int = 1, taken: int = 0, core: str = "cortex-m4") -> Cost:
    """The cost of one block, executed so often, given its halfwords."""
    code = b"".join(int(half, 16).to_bytes(2, "little") for half in text.split())
    return cost_of_code({(0, len(code)): code}, [Block(0, len(code), count, taken, 0)], TABLES[core])


@pytest.mark.parametrize(
    ("code", "cycles"),
    [
        ("1C48", 1),  # adds
        ("FB21 3002", 1),  # smlad
        ("FB82 0103", 1),  # smull
        ("6848", 2),  # ldr
        ("6848 6848 6848", 2 + 1 + 1),  # the second and third address hide behind the first
        ("70C8 6848", 1 + 1),  # strb, ldr
        ("6848 1C48 6848", 2 + 1 + 2),
        ("C80E", 1 + 3),  # ldmia of three
        ("C80E 6848", 1 + 3 + 2),  # a multiple hides nothing
        ("E9D2 0100", 1 + 2),  # ldrd
        ("B530", 1 + 3),  # push of three
        ("BF1A BF00 BF00 BF00", 0 + 3),  # itte and three more
        ("FBB1 F0F2", 7),  # udiv
        ("EE30 0A81 EE80 0A81", 1 + 14),  # vadd, vdiv
        ("ECB0 0A04", 1 + 4),  # vldmia of four
    ],
)
def test_straight_code(code: str, cycles: int) -> None:
    assert price(code).cycle_sum == cycles
    assert price(code, 1000).cycle_sum == 1000 * cycles


@pytest.mark.parametrize(
    ("code", "cycles"),
    [
        ("E7C3", 3),  # b
        ("F7FF FFBD", 3),  # bl
        ("4770", 3),  # bx lr
        ("4798", 3),  # blx r3
        ("BD10", 1 + 2 + 2),  # pop {r4, pc}
        ("E8DF F000", 2 + 2),  # tbb
        ("BF08 4770", 0 + 3),  # it eq, bxeq lr
    ],
)
def test_jumps(code: str, cycles: int) -> None:
    assert price(code, taken=1).cycle_sum == cycles


def test_small_cores_hide_nothing_and_jump_in_their_own_time() -> None:
    assert price("6848 6848 70C8", core="cortex-m0").cycle_sum == 2 + 2 + 2
    assert price("4348", core="cortex-m0").cycle_sum == 1  # muls
    assert price("E7C3", taken=1, core="cortex-m0").cycle_sum == 3
    assert price("E7C3", taken=1, core="cortex-m0plus").cycle_sum == 2
    assert price("6848 6848", core="cortex-m3").cycle_sum == 2 + 1


def test_a_jump_that_is_not_taken_costs_one() -> None:
    assert price("D0C0", 10, taken=4) == Cost(10, 10 + 4 * 2)


def test_a_load_hides_behind_a_load_of_the_block_before() -> None:
    """Emulators cut blocks where they like; only what came from the instruction before is cheaper."""
    load = bytes.fromhex("4868")
    code = {(0, 2): load, (2, 2): load}
    blocks = [Block(0, 2, 5, 0, 0), Block(2, 2, 8, 0, 5)]
    assert cost_of_code(code, blocks, TABLES["cortex-m4"]) == Cost(13, 5 * 2 + 8 * 2 - 5)


def test_code_that_the_image_does_not_hold(tmp_path: Path) -> None:
    image = Image(tmp_path, 0, (), {}, {}, Sizes(0, 0, 0, 0, 0, 0, 0))
    with pytest.raises(ToolError, match="executed 0x20000000, where the image holds no code"):
        cost_of(image, [Block(0x2000_0000, 2, 1, 0, 0)], TABLES["cortex-m4"])


@pytest.mark.emulated
@pytest.mark.parametrize("compiler", ["gcc", "zig"])
def test_an_executed_function(compiler: str, tmp_path: Path) -> None:
    board = load_board("qemu-m4")
    cpu = cpu_spec(board.chip.cpu)
    if compiler not in available(cpu):
        pytest.skip(f"no {compiler} for {cpu.key} is installed")
    built = build_firmware(board, select(compiler, cpu), [], [], tmp_path, "none", 8, app=PROBE)
    image = read_image(built.elf)
    trace = BlockTrace()
    trace.begin(image.symbols["td_probe"])
    with UnicornEmulator(board, attachment=trace) as emulator:
        emulator.start(built.elf)
        assert emulator.uart.read(30) == b"\x01"
        (blocks,) = trace.windows()
    instructions = {"push, movs": 2, "loop": 40, "cmp to udiv": 5, "call": 1, "bx": 1, "pop": 1}
    cycles = {
        "push": 1 + 2,
        "movs": 1,
        "loop": 10 * (2 + 1 + 1 + 1) + 9 * 2,
        "cmp": 1,
        "it": 0,
        "two moves": 2,
        "udiv": 7,
        "bl": 3,
        "bx": 3,
        "pop": 1 + 2 + 2,
    }
    assert cost_of(image, blocks, TABLES["cortex-m4"]) == Cost(total(instructions), total(cycles))


def total(parts: Mapping[str, int]) -> int:
    return sum(parts.values())
