"""The proved stack bound: against compilers, against painted stacks, and where there is none."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.shared_data import mlperf_model, needs_shared
from tinydeploy import demo
from tinydeploy.boards import Board, all_boards, load_board
from tinydeploy.build import compile_graph
from tinydeploy.device import Build, build_model, measure
from tinydeploy.emulate import start_emulator
from tinydeploy.emulate.chip import UnicornEmulator
from tinydeploy.errors import BudgetError, ToolError
from tinydeploy.firmware import build_firmware, read_image, stack_bound
from tinydeploy.firmware.callgraph import CallGraph, Function, read_call_graph
from tinydeploy.firmware.stack import (
    FENCE_BYTES,
    StackBound,
    _Finder,
    _usage_of_files,
    _usage_of_section,
    check_stack,
    plain_name,
)
from tinydeploy.frontends import load
from tinydeploy.kernels.targets import target_of
from tinydeploy.resources import runtime_dir
from tinydeploy.rpc import Client, trace
from tinydeploy.toolchain import available, cpu_spec, select
from tinydeploy.verify import make_samples

EMULATED = [board for board in all_boards() if board.emulators and not board.is_host]
ONE_PER_CORE = {board.chip.cpu: board.name for board in reversed(EMULATED)}
IN_UNICORN = sorted(
    {
        board.chip.cpu: board.name
        for board in reversed(EMULATED)
        if any(choice.kind == "unicorn" for choice in board.emulators)
    }.values()
)
IN_QEMU = [
    board.name
    for board in EMULATED
    if board.name in ONE_PER_CORE.values() and any(choice.kind == "qemu" for choice in board.emulators)
]
COMPILERS = ("gcc", "zig")
PAINT = 0xA5
UNTOLD = ("__", "mem", "td_fault_entry", "td_trap_entry")  # libraries and naked functions


def build(
    board: Board,
    compiler: str,
    folder: Path,
    *,
    model: Path | None = None,
    level: str = "io",
    traced: bool = False,
) -> Build:
    cpu = cpu_spec(board.chip.cpu)
    if compiler not in available(cpu):
        pytest.skip(f"no {compiler} for {cpu.key} is installed")
    compiled = compile_graph(load(model or demo.model_path()), target_of(board.chip.cpu))
    return build_model(compiled, board, select(compiler, cpu), folder, rpc_level=level, trace=traced)


def usage_of(built: Build) -> dict[str, int]:
    graph = read_call_graph(built.firmware.elf)
    files = _usage_of_files(built.firmware.stack_usage)
    return {**files, **_usage_of_section(built.firmware.elf, graph)}


@pytest.mark.slow
@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("board", sorted(ONE_PER_CORE.values()))
def test_the_proof_of_an_image(board: str, compiler: str, tmp_path: Path) -> None:
    built = build(load_board(board), compiler, tmp_path)
    check_figures(built)
    check_frames(built)


def check_figures(built: Build) -> None:
    figures, sizes = built.figures(), built.firmware.sizes
    assert built.stack is not None
    assert figures["stack_bytes"] == built.stack.bytes
    assert figures["ram_bytes"] == sizes.arena_bytes + sizes.data_bytes + sizes.bss_bytes + built.stack.bytes
    assert 200 < built.stack.bytes < 2000
    assert built.stack.chain[0] == "Reset_Handler"
    assert any(name.startswith(f"{built.compiled.library.prefix}_") for name in built.stack.chain)
    assert built.stack.interrupt[0] in ("td_uart_isr", "td_trap_entry")
    assert built.stack.interrupt_bytes >= (104 if "fpu" in cpu_spec(built.board.chip.cpu).features else 32)


def check_frames(built: Build) -> None:
    """Two independent sources, function by function: the compiler's word and the instructions."""
    told = usage_of(built)
    functions = read_call_graph(built.firmware.elf).functions.values()
    known = [found for found in functions if not found.name.startswith(UNTOLD)]
    for found in known:
        assert found.pushed_bytes >= told[plain_name(found.name)] or found.moves_stack, found.name
    equal = [found for found in known if found.pushed_bytes == told[plain_name(found.name)]]
    assert len(equal) > 0.9 * len(known)


def test_a_product_takes_less_than_a_served_model(tmp_path: Path) -> None:
    board = load_board("qemu-m4")
    served = build(board, "gcc", tmp_path / "io").stack
    product = build(board, "gcc", tmp_path / "none", level="none").stack
    assert served is not None
    assert product is not None
    assert product.bytes < served.bytes
    assert not any(name.startswith("td_rpc") for name in product.chain)


class Paint:
    """Fills a board's stack before the first instruction."""

    def __init__(self, low: int, size: int) -> None:
        self.low, self.size = low, size
        self.engine: Any = None

    def install(self, engine: Any) -> None:
        self.engine = engine
        engine.mem_write(self.low, bytes([PAINT]) * self.size)

    def used_bytes(self) -> int:
        """From the stack's end to the lowest byte that no longer has its paint."""
        content = np.frombuffer(self.engine.mem_read(self.low, self.size), np.uint8)
        touched = np.flatnonzero(content != PAINT)
        return self.size - int(touched[0]) if touched.size else 0


@pytest.mark.emulated
@pytest.mark.parametrize(("compiler", "traced"), [("gcc", True), ("zig", False)])
@pytest.mark.parametrize("board", IN_UNICORN)
def test_a_painted_stack(board: str, compiler: str, traced: bool, tmp_path: Path) -> None:
    check_watermark(build(load_board(board), compiler, tmp_path, traced=traced), traced=traced)


@pytest.mark.emulated
@needs_shared
@pytest.mark.parametrize(("board", "bench"), [("qemu-m4", "vww"), ("nucleo-f746", "kws")])
def test_a_painted_stack_of_real_models(board: str, bench: str, tmp_path: Path) -> None:
    check_watermark(build(load_board(board), "gcc", tmp_path, model=mlperf_model(bench)), traced=False)


def check_watermark(built: Build, *, traced: bool) -> None:
    """Everything that a host can ask for stays within the bound, and the bound is no idle one."""
    image = read_image(built.firmware.elf)
    low, high = image.symbols["td_stack_low"], image.symbols["td_stack_high"]
    paint = Paint(low, high - low)
    with UnicornEmulator(built.board, attachment=paint) as emulator:
        emulator.start(built.firmware.elf)
        with Client.connect(emulator.uart) as client:
            measure(client, built.compiled)
            if traced:
                for sample in make_samples(built.compiled.graph, 2):
                    trace(client, sample)
        used = paint.used_bytes()
    assert built.stack is not None
    assert used <= built.stack.bytes
    assert used > built.stack.bytes // 2


@pytest.mark.emulated
@pytest.mark.parametrize("board", IN_QEMU)
def test_a_painted_stack_in_qemu(board: str, tmp_path: Path) -> None:
    """Through the debug image itself: what lies below the bound keeps its paint."""
    built = build(load_board(board), "gcc", tmp_path, level="debug")
    image = read_image(built.firmware.elf)
    assert built.stack is not None
    low = image.symbols["td_stack_low"] + FENCE_BYTES
    size = (image.symbols["td_stack_high"] - built.stack.bytes - low) & ~3
    paint = bytes([PAINT]) * size
    with (
        start_emulator(built.board, built.firmware.elf, "qemu") as emulator,
        Client.connect(emulator.uart) as client,
    ):
        client.write_memory(low, paint)
        measure(client, built.compiled)
        assert client.read_memory(low, size) == paint


def function(name: str, address: int, *targets: int, **other: Any) -> Function:
    values = {"pushed_bytes": 8, "moves_stack": False, "is_indirect": False, **other}
    return Function(name, address, targets=frozenset(targets), **values)


def finder(*functions: Function, usage: dict[str, int] | None = None) -> _Finder:
    return _Finder(CallGraph({f.address: f for f in functions}, {}), usage or {}, "net")


def test_the_deepest_chain() -> None:
    a = function("a", 0, 4, 8)
    b, c = function("b", 4, 12), function("c", 8, pushed_bytes=40)
    d = function("d", 12, pushed_bytes=16)
    assert finder(a, b, c, d).deepest(a) == (48, ("a", "c"))
    assert finder(a, b, c, d, usage={"d": 100}).deepest(a) == (116, ("a", "b", "d"))


def test_recursion_has_no_bound() -> None:
    a, b, c = function("a", 0, 4), function("b", 4, 8), function("c", 8, 4)
    with pytest.raises(ToolError, match="the stack has no bound: b > c > b is a recursion"):
        finder(a, b, c).deepest(a)


def test_a_pointer_that_nobody_declared() -> None:
    a = function("stranger", 0, is_indirect=True)
    with pytest.raises(
        ToolError, match="stranger calls through a pointer, and no one declares what that can be"
    ):
        finder(a).deepest(a)


def test_declared_pointers() -> None:
    """The model's kernels may call the trace, the server the model and the board's functions."""
    run = function("net_model_run", 4, is_indirect=True)
    row = function("td_rpc_on_row", 8, pushed_bytes=100)
    write = function("td_app_write", 12, pushed_bytes=16)
    poll = function("td_rpc_poll", 0, is_indirect=True)
    cobs = function("td_cobs_write", 16, is_indirect=True)
    found = finder(poll, run, row, write, cobs)
    assert found.deepest(poll) == (116, ("td_rpc_poll", "net_model_run", "td_rpc_on_row"))
    assert found.deepest(cobs) == (24, ("td_cobs_write", "td_app_write"))


@pytest.mark.parametrize("usage", [{}, {"a": -1}])
def test_a_frame_without_fixed_size(usage: dict[str, int]) -> None:
    a = function("a", 0, moves_stack=True)
    with pytest.raises(ToolError, match="the stack has no bound: the frame of a has no fixed size"):
        finder(a, usage=usage).deepest(a)
    assert finder(a, usage={"a": 24}).deepest(a) == (24, ("a",))


def test_usage_files(tmp_path: Path) -> None:
    path = tmp_path / "x.su"
    path.write_text(
        "C:/x.c:1:2:f.constprop\t16\tstatic\nx.c:3:4:g\t8\tdynamic\nx.c:5:6:h\t24\tdynamic,bounded\n"
    )
    assert _usage_of_files([path]) == {"f.constprop": 16, "g": -1, "h": 24}
    assert plain_name("f.constprop.0") == "f.constprop"
    assert plain_name("f.constprop.0.isra.1") == "f.constprop.isra"


def test_recursion_in_c(tmp_path: Path) -> None:
    """From the compiler to the message."""
    board = load_board("qemu-m4")
    built = build(board, "gcc", tmp_path)
    source = tmp_path / "model" / f"{built.compiled.library.prefix}_model.c"
    text = source.read_text()
    prefix = built.compiled.library.prefix
    looping = (
        "\nint td_deep(int n);\n__attribute__((noinline, noipa)) int td_deep(int n)"
        "\n{\n    return n > 0 ? td_deep(n - 1) * td_deep(n - 2) + 1 : 0;\n}\n"
    )
    head, tail = text.split(f"static void {prefix}_model_reset", 1)
    tail = tail.replace("{", "{\n    if (td_deep((int)state->next_step) > 9) { return; }\n", 1)
    source.write_text(head + looping + f"static void {prefix}_model_reset" + tail)
    firmware = build_firmware(
        board,
        select("gcc", cpu_spec(board.chip.cpu)),
        [source, tmp_path / "model" / f"{prefix}.c", tmp_path / "model" / f"{prefix}_weights.c"],
        [tmp_path / "model"],
        tmp_path / "again",
        arena_bytes=built.compiled.plan.arena_bytes,
        name=prefix,
    )
    with pytest.raises(ToolError, match="td_deep > td_deep is a recursion"):
        stack_bound(firmware.elf, firmware.stack_usage, prefix, floats=True)


def test_a_far_jump_on_armv6m_is_no_recursion(tmp_path: Path) -> None:
    """Its branches reach 2 KiB; in larger functions compilers jump with BL."""
    source = tmp_path / "far.c"
    source.write_text(
        '#include "td_board.h"\n__attribute__((naked)) void td_app_main(void) {\n'
        '    __asm__ volatile("push {r4, lr}\\n bl 1f\\n .space 4000\\n 1: pop {r4, pc}");\n}\n'
    )
    board = load_board("qemu-m0")
    compiler = select("gcc", cpu_spec(board.chip.cpu))
    firmware = build_firmware(board, compiler, [], [], tmp_path, "none", app=source)
    assert not read_call_graph(firmware.elf).named("td_app_main").targets


def test_a_region_that_is_too_small(tmp_path: Path) -> None:
    board = load_board("qemu-m4")
    assert board.chip.layout is not None
    layout = dataclasses.replace(board.chip.layout, stack_bytes=512)
    small = dataclasses.replace(board, chip=dataclasses.replace(board.chip, layout=layout))
    with pytest.raises(BudgetError) as caught:
        build(small, "gcc", tmp_path)
    message = str(caught.value)
    assert message.startswith("board qemu-m4: the stack can take ")
    assert "and 256 fence it off; 512 are reserved. Deepest: Reset_Handler > " in message
    assert "Set stack_bytes in the chip's file to " in message


def test_the_smallest_region_that_passes() -> None:
    bound = StackBound(700, ("Reset_Handler",), 120, ("td_uart_isr",))
    check_stack(bound, 700 + FENCE_BYTES, "board x")
    with pytest.raises(BudgetError, match=r"chip's file to 1024 or more"):
        check_stack(bound, 699 + FENCE_BYTES, "board x")


def test_the_fence_is_the_runtimes() -> None:
    header = (runtime_dir() / "src" / "td_internal.h").read_text()
    assert f"#define TD_STACK_FENCE_BYTES {FENCE_BYTES}u" in header
