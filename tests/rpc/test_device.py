"""The C server: it compiles everywhere without a warning, and no input breaks it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.rpc.device_board import INCLUDES, RPC, SANITIZERS, WARNINGS, Board, compile_board
from tests.rpc.lines import DirectLine
from tinydeploy.rpc import Client, Level, RefusedError
from tinydeploy.rpc.protocol import Status

COMPILERS = {
    "gcc": ["gcc"],
    "clang": ["clang"],
    "zig": [sys.executable, "-m", "ziglang", "cc"],
    "cortex-m0": ["arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb"],
    "cortex-m7": ["arm-none-eabi-gcc", "-mcpu=cortex-m7", "-mthumb"],
}


@pytest.mark.parametrize(("name", "level"), [*((name, 2) for name in COMPILERS), ("gcc", 0), ("gcc", 1)])
def test_no_compiler_warns(
    name: str,
    level: int,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = COMPILERS[name]
    if shutil.which(command[0]) is None:
        pytest.skip(f"{command[0]} is not installed: apt-get install clang gcc-arm-none-eabi")
    monkeypatch.setenv("ZIG_GLOBAL_CACHE_DIR", str(tmp_path_factory.getbasetemp() / "zig"))
    sources = [str(path) for path in sorted(RPC.glob("*.c"))]
    flags = ["-std=c11", "-Os", *WARNINGS, f"-DTD_RPC_LEVEL={level}", *INCLUDES, "-c"]
    done = subprocess.run([*command, *flags, *sources], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_only_debug_images_reach_memory(tmp_path: Path) -> None:
    library = compile_board("library", tmp_path / "io.so", "-shared", "-fPIC", level=1)
    line = DirectLine(Board(library))
    client = Client.connect(line, clock=line.clock)
    assert client.device.level is Level.IO
    text = "the image was built without it. Build the image with --rpc debug"
    for attempt in (lambda: client.read_memory(0, 4), lambda: client.write_memory(0, b"1234")):
        with pytest.raises(RefusedError, match=text):
            attempt()


IN_EVERY_IMAGE = [status for status in Status if status < Status.OTHER_ABI]
"""The later ones need slots."""


@pytest.mark.parametrize("payload", [64, 200])
def test_no_input_breaks_the_parser(tmp_path: Path, payload: int) -> None:
    """Per seed a million bytes: noise, damaged frames, whole frames of any content; under sanitizers."""
    fuzz = compile_board("fuzz", tmp_path / "fuzz", *SANITIZERS, f"-DBOARD_PAYLOAD={payload}u")
    for seed in (1, 2):
        done = subprocess.run([fuzz, str(seed), "1000000"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        counts = dict(zip(IN_EVERY_IMAGE, map(int, done.stdout.split()), strict=False))
        assert min(counts.values()) > 0, counts
        assert counts[Status.DONE] > 500
