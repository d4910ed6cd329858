"""Every core that QEMU emulates: startup, interrupts, exact counts, faults, and models bit for bit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.emulated.conftest import COMPILERS, Bench, Builder
from tests.shared_data import MLPERF_MODELS, mlperf_model, needs_shared
from tinydeploy import demo
from tinydeploy.boards import all_boards, load_board
from tinydeploy.build import Compiled, compile_graph
from tinydeploy.device import build_model, emulated, verify_device
from tinydeploy.emulate import Emulator
from tinydeploy.firmware import Fault, Firmware, find_fault, read_image
from tinydeploy.frontends import load
from tinydeploy.kernels.targets import target_of
from tinydeploy.rpc import Client, CounterUnit, RefusedError
from tinydeploy.toolchain import available, cpu_spec, select
from tinydeploy.verify import make_samples

pytestmark = pytest.mark.emulated
Start = Callable[[str, str, Firmware], Emulator]

BOARDS = [board.name for board in all_boards() if board.emulators[:1] and board.emulators[0].kind == "qemu"]
MODEL_BOARDS = [name for name in BOARDS if load_board(name).chip.ram_bytes >= 1 << 20]  # room for every model

# Each board runs a real model, each model a board; tests/cli/test_on_boards.py adds qemu-m4.
PAIRS = [
    ("qemu-m0", "kws"),
    ("qemu-m3", "sww"),
    ("qemu-m33", "vww"),
    ("qemu-m4", "ad"),
    ("qemu-m55", "ic02"),
    ("qemu-m7", "ic"),
    ("qemu-rv32", "ad"),
]

every_board = pytest.mark.parametrize("board", BOARDS)
compilers = pytest.mark.parametrize("compiler", COMPILERS)


def bench_on(start: Start, board: str, firmware: Firmware) -> Bench:
    return Bench(start(board, "qemu", firmware))


@every_board
@compilers
def test_it_boots_counts_and_restarts(builder: Builder, start: Start, board: str, compiler: str) -> None:
    """The loop of 300,000 instructions and two of the call around it: exactly, each time."""
    bench = bench_on(start, board, builder.bench(board, compiler))
    greeting = [0, 0, load_board(board).clock_hz]
    assert bench.greeting == greeting
    assert {bench.ask("m") for _ in range(4)} == {"300002"}
    assert bench.everything("r").decode().split() == [str(number) for number in greeting]
    assert bench.ask("f") == "3"


@every_board
def test_received_bytes_interrupt_whatever_runs(builder: Builder, start: Start, board: str) -> None:
    """All bytes of a burst arrive, those during a measurement too; registers survive the interrupts."""
    bench = bench_on(start, board, builder.bench(board))
    echoed = [chr(33 + index % 60) for index in range(300)]
    bench.send("mf" + "".join(echoed))
    assert int(bench.line()) >= 300_002
    assert bench.line() == "3"
    assert [bench.line() for _ in echoed] == [str(ord(byte)) for byte in echoed]


@every_board
def test_a_debug_image_shows_its_memory(builder: Builder, start: Start, board: str) -> None:
    emulator = start(board, "qemu", builder.model(board, level="debug"))
    chip = load_board(board).chip
    assert chip.layout is not None
    code, data = chip.region(chip.layout.code), chip.region(chip.layout.data)
    with Client.connect(emulator.uart) as client:
        assert client.device.counter_unit is CounterUnit.INSTRUCTIONS
        assert client.device.board == board
        client.write_memory(data.end - 1024, b"tinydeploy")
        assert client.read_memory(data.end - 1024, 10) == b"tinydeploy"
        assert client.read_memory(code.origin, 64) != bytes(64)
        with pytest.raises(RefusedError):
            client.write_memory(code.origin, b"x")
        with pytest.raises(RefusedError):
            client.read_memory(0xE8000000, 4)


# What each architecture can tell of an undefined instruction, a read of nothing, a division by zero.
CAUSES = {
    "armv6m": ("HardFault", "HardFault", None),
    "armv7m": ("undefined instruction", "access to an address where there is nothing", "division by zero"),
    "armv8m": ("undefined instruction", "access to an address where there is nothing", "division by zero"),
    "riscv32": ("undefined instruction", "read of a missing or protected address", None),
}


@every_board
@compilers
def test_faults_are_reported(builder: Builder, start: Start, board: str, compiler: str) -> None:
    firmware = builder.bench(board, compiler)
    image = read_image(firmware.elf)
    core = cpu_spec(load_board(board).chip.cpu).core[-1]

    def fault_after(command: str) -> Fault:
        received = bench_on(start, board, firmware).everything(command)
        assert received.startswith(b"\0"), "a frame under way ends first"
        assert received.endswith(b"\r\n\0")
        found = find_fault(received)
        assert found is not None
        return found

    for command, cause in zip("ubz", CAUSES[core], strict=True):
        if cause is None:
            assert bench_on(start, board, firmware).ask(command), "the core goes on"
            continue
        fault = fault_after(command)
        assert fault.causes == (cause,)
        assert not fault.stack_overflow
        assert image.symbol_at(fault.registers["pc"]).split("+")[0] in ("command", "td_app_main")
        knows_address = command == "b" and cause != "HardFault"
        assert ("address 0xe8000000" in fault.describe(image)) == knows_address
    overflow = fault_after("o")
    assert overflow.stack_overflow
    assert overflow.describe(image).startswith("the firmware faulted: stack overflow")


def compiled_for(model: Path, board: str) -> Compiled:
    return compile_graph(load(model), target_of(load_board(board).chip.cpu))


def check_on_board(model: Path, board: str, compiler: str, samples: int, folder: Path) -> None:
    """Every instance of every sample, bit for bit; equal inputs cost equally many instructions."""
    found = load_board(board)
    cpu = cpu_spec(found.chip.cpu)
    if compiler not in available(cpu):
        pytest.skip(f"no {compiler} for {cpu.key} is installed")
    compiled = compiled_for(model, board)
    built = build_model(compiled, found, select(compiler, cpu), folder, trace=True)
    inputs = make_samples(compiled.graph, samples)
    with emulated(found, built.firmware.elf) as client:
        comparison = verify_device(client, compiled, inputs)
        assert comparison.bit_exact, comparison.first_bad_step
        assert comparison.instances_compared == samples * sum(1 for _ in compiled.program.calls())
        counts = {client.infer(inputs[-1]).count for _ in range(2)}
        assert len(counts) == 1
        assert 0.3 < counts.pop() / compiled.library.macs < 30


@every_board
@compilers
def test_the_demo_model_is_bit_exact(board: str, compiler: str, tmp_path: Path) -> None:
    check_on_board(demo.model_path(), board, compiler, 4, tmp_path)


def test_the_pairs_cover_boards_and_models() -> None:
    assert {board for board, _ in PAIRS} == set(MODEL_BOARDS)
    assert {bench for _, bench in PAIRS} == MLPERF_MODELS.keys()


@needs_shared
@pytest.mark.parametrize(("board", "bench"), PAIRS)
def test_real_models_are_bit_exact(board: str, bench: str, tmp_path: Path) -> None:
    check_on_board(mlperf_model(bench), board, "gcc", 2, tmp_path)


@needs_shared
@pytest.mark.full
@compilers
@pytest.mark.parametrize("board", MODEL_BOARDS)
@pytest.mark.parametrize("bench", MLPERF_MODELS)
def test_every_model_on_every_board(bench: str, board: str, compiler: str, tmp_path: Path) -> None:
    check_on_board(mlperf_model(bench), board, compiler, 4, tmp_path)
