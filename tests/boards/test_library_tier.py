"""Boards without firmware of ours: what they refuse, and that a library for them computes the same bits."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.tflite_builder import ModelBuilder
from tinydeploy import demo
from tinydeploy.boards import Tier, load_board
from tinydeploy.build import compile_graph, write_files
from tinydeploy.cli.app import app
from tinydeploy.errors import TinyDeployError, ToolError
from tinydeploy.firmware import build_firmware
from tinydeploy.frontends.tflite import load_bytes
from tinydeploy.kernels.targets import target_of
from tinydeploy.toolchain import cpu_spec, select
from tinydeploy.toolchain.flags import C99, WARNINGS

BOARDS = {
    "esp32": ("xtensa-lx6", 328, 4096),
    "esp32-s3": ("xtensa-lx7", 480, 8192),
    "arduino-uno": ("avr", 2, 32),
}
DIGITS = str(demo.model_path())
SIMAVR = ("avr-gcc", "simavr")

needs_avr = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in SIMAVR),
    reason="gcc-avr, avr-libc and simavr are not installed",
)
boards = pytest.mark.parametrize("name", BOARDS)


@boards
def test_the_boards(name: str) -> None:
    board = load_board(name)
    core, ram, flash = BOARDS[name]
    assert (board.tier, board.chip.cpu) == (Tier.LIBRARY, core)
    assert (board.chip.ram_bytes // 1024, board.chip.flash_bytes // 1024) == (ram, flash)
    assert "scalar kernels" in board.title


@boards
@pytest.mark.parametrize(
    "command",
    [
        ["build", DIGITS],
        ["flash", DIGITS],
        ["flash"],
        ["run", DIGITS, "--input", "in.npz", "-o", "out.npz"],
        ["verify", DIGITS, "--emulate"],
        ["profile", DIGITS, "--emulate"],
    ],
    ids=lambda command: "-".join(part for part in command if part.isalpha()),
)
def test_what_needs_firmware_names_the_export(command: list[str], name: str) -> None:
    result = CliRunner().invoke(app, [*command, "--board", name])
    assert isinstance(result.exception, TinyDeployError)
    assert str(result.exception) == (
        f"board {name}: has no firmware of ours: its own tools build it. "
        f"tinydeploy export MODEL --board {name} --format FORMAT"
    )


def test_so_do_the_api_and_the_compilers(tmp_path: Path) -> None:
    compiler = select(None, cpu_spec("cortex-m4"))
    with pytest.raises(
        TinyDeployError, match=r"board esp32: has no firmware of ours.*tinydeploy export MODEL"
    ):
        build_firmware(load_board("esp32"), compiler, [], [], tmp_path)
    with pytest.raises(ToolError) as caught:
        cpu_spec("avr")
    assert str(caught.value) == (
        "there is no compiler of ours for avr: the vendor's tools build for it. "
        "tinydeploy export MODEL --board BOARD --format FORMAT"
    )


@boards
def test_a_library_is_made_of_scalar_kernels(name: str, tmp_path: Path) -> None:
    command = ["compile", DIGITS, "--board", name, "-o", str(tmp_path), "--name", "digits", "--json"]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.exception
    assert json.loads(result.stdout)["output"] == str(tmp_path)
    schedules = re.findall(r"rows \((\w+/\w+)\)", (tmp_path / "digits.c").read_text())
    assert schedules
    assert {schedule.partition("/")[2] for schedule in schedules} <= {"scalar"}


def _dense() -> bytes:
    return ModelBuilder(seed=3).input((1, 4)).fully_connected(3).output().build()


def _network() -> bytes:
    builder = ModelBuilder(seed=7).input((1, 8, 8, 1)).conv2d(4, (3, 3), stride=(2, 2)).depthwise(1, (3, 3))
    builder.average_pool((2, 2)).reshape((1, 36)).fully_connected(5)
    return builder.softmax().output().build()


def _sixteen_bits() -> bytes:
    builder = ModelBuilder(seed=7, dtype="int16", bias="int64").input((1, 8, 8, 1))
    return builder.conv2d(4, (3, 3), stride=(2, 2)).reshape((1, 64)).fully_connected(5).output().build()


@needs_avr
@pytest.mark.emulated
@pytest.mark.parametrize("make", [_dense, _network, _sixteen_bits])
def test_an_eight_bit_core_computes_the_bits_of_the_reference(
    make: Callable[[], bytes], tmp_path: Path
) -> None:
    """``int`` has 16 bits there. The self-test compares what every step writes with the exact reference."""
    compiled = compile_graph(load_bytes(make(), "net"), target_of("avr"), name="net")
    write_files(compiled.library.files, tmp_path)
    image = tmp_path / "net.elf"
    sources = [Path(__file__).parent / "avr_main.c", *sorted(tmp_path.glob("*.c"))]
    flags = ["-mmcu=atmega328p", "-Os", *C99, *WARNINGS, f"-I{tmp_path}"]
    macros = ["-DNAME=net", '-DHEADER="net.h"', f"-DARENA_BYTES={compiled.plan.arena_bytes}"]
    subprocess.run(["avr-gcc", *flags, *macros, *map(str, sources), "-o", str(image)], check=True)
    answer = subprocess.run(
        ["simavr", "-m", "atmega328p", "-f", "16000000", str(image)],
        capture_output=True,
        timeout=60,
        check=False,
    )
    shown = re.sub(rb"\x1b\[[0-9;]*m", b"", answer.stdout + answer.stderr)
    assert re.search(rb"^(\d+ \d+)\.*\r?$", shown, re.MULTILINE), shown
    assert re.search(rb"^0 \d+\.*\r?$", shown, re.MULTILINE), shown
