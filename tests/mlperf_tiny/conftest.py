"""The protocol's C code as a process of this machine, under sanitizers."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from mlperf_tiny.firmware import harness_dir
from tinydeploy.toolchain import HOST, select

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dut")
    toolchain = select("gcc", HOST, sanitize=True)
    objects = toolchain.compile(
        [harness_dir() / "td_mlperf.c", HERE / "host_dut.c"],
        include_dirs=[harness_dir()],
        out_dir=folder,
        optimize="-O1",
    )
    toolchain.link_host(objects, folder / "dut")
    return folder / "dut"


class ProcessLine:
    """A process as a line of the protocol."""

    name = "process"
    seconds_per_byte = 0.0

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdout is not None
        self.process = process
        os.set_blocking(process.stdout.fileno(), False)

    def write(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def read(self, timeout_s: float) -> bytes:
        assert self.process.stdout is not None
        deadline = time.monotonic() + timeout_s
        while True:
            found = self.process.stdout.read()
            if found or time.monotonic() > deadline:
                return found or b""
            time.sleep(0.0005)

    def close(self) -> None:
        self.process.kill()


@contextmanager
def device(program: Path, mode: str = "performance") -> Iterator[ProcessLine]:
    with subprocess.Popen([program, mode], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield ProcessLine(process)
        finally:
            process.kill()


def answer(program: Path, commands: bytes, mode: str = "performance") -> str:
    """Everything that the device says to these bytes."""
    done = subprocess.run([program, mode], input=commands, capture_output=True, timeout=20, check=True)
    return done.stdout.decode()


def official_repository() -> Path:
    """A checkout of mlcommons/tiny, named by the environment; skips the test where there is none."""
    folder = os.environ.get("TINYDEPLOY_MLPERF_REPOSITORY")
    if not folder:
        pytest.skip("TINYDEPLOY_MLPERF_REPOSITORY names no checkout of mlcommons/tiny")
    return Path(folder)
