"""Instruction counts are exact and the same everywhere."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest

from tests.emulated.conftest import COMPILERS, Bench, Builder
from tinydeploy.boards import load_board
from tinydeploy.emulate import Emulator
from tinydeploy.emulate.chip import UnicornEmulator, hook
from tinydeploy.errors import ToolError
from tinydeploy.firmware import Firmware
from tinydeploy.rpc import Client

pytestmark = pytest.mark.emulated
Start = Callable[[str, str, Firmware], Emulator]

SETTLE_S = 0.2


@pytest.mark.parametrize(
    ("board", "compiler"),
    [*(("qemu-m4", compiler) for compiler in COMPILERS), ("qemu-m3", "gcc"), ("qemu-m7", "gcc")],
)
def test_qemu_and_unicorn_agree_on_the_same_image(
    builder: Builder, start: Start, board: str, compiler: str
) -> None:
    """Two independent ways: QEMU's virtual time, and our hook, both read by the firmware's own counter."""
    firmware = builder.model(board, compiler)
    counts = []
    for kind in ("qemu", "unicorn"):
        emulator = start(board, kind, firmware)
        with Client.connect(emulator.uart) as client:
            counts.append(client.infer([np.zeros((1, 16), np.int8)]).count)
    assert counts[0] == counts[1]
    assert counts[0] > 16_000


def at_rest(emulator: Emulator) -> int:
    """The hook's count, once the chip sleeps."""
    while True:
        before = emulator.instructions()
        time.sleep(SETTLE_S)
        after = emulator.instructions()
        assert before is not None
        assert after is not None
        if after - before < 1000:  # a sleeping chip wakes now and then, and sleeps again
            return after


def test_the_hook_counts_what_the_firmware_counts(builder: Builder, start: Start) -> None:
    """The emulator's own count of a measurement: what the firmware reports, and its own work around it."""
    emulator = start("nucleo-f746", "unicorn", builder.bench("nucleo-f746"))
    bench = Bench(emulator)
    before = at_rest(emulator)
    reported = int(bench.ask("m"))
    spent = at_rest(emulator) - before
    assert reported <= spent < reported + 3000


def test_an_image_without_serial_protocol_runs_its_model(builder: Builder, start: Start) -> None:
    emulator = start("nucleo-f746", "unicorn", builder.model("nucleo-f746", level="none"))
    assert at_rest(emulator) > 16_000


def test_without_a_compiler_the_counts_are_the_same(builder: Builder) -> None:
    with UnicornEmulator(load_board("nucleo-f746"), compiled=False) as emulator:
        emulator.start(builder.bench("nucleo-f746").elf)
        bench = Bench(emulator)
        assert bench.greeting == [0, 0, 216_000_000]
        assert bench.ask("f") == "3"
        assert [bench.ask("x") for _ in range(20)] == ["120"] * 20
        assert bench.ask("m") == "300002"


def test_both_hooks_count_a_boot_alike(builder: Builder) -> None:
    counts = []
    for compiled in (True, False):
        with UnicornEmulator(load_board("nucleo-f746"), compiled=compiled) as emulator:
            emulator.start(builder.bench("nucleo-f746").elf)
            Bench(emulator)
            counts.append(at_rest(emulator))
    assert abs(counts[0] - counts[1]) < 1000, "a sleeping chip wakes now and then"


def test_a_missing_compiler_means_the_slow_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise ToolError("no C compiler")

    assert isinstance(hook.make_hook(), hook.CompiledHook)
    monkeypatch.setattr(hook, "build_hook", none)
    assert isinstance(hook.make_hook(), hook.PythonHook)


def test_thumb_instructions_are_counted_by_their_first_halfword() -> None:
    """nop; mov.w; bl; b; vldr: 2 + 4 + 4 + 2 + 4 bytes."""
    assert hook.count_instructions(bytes.fromhex("00bf 4ff08043 00f000f8 fee7 90ed000a")) == 5
