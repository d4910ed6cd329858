"""The host's end of the protocol: a bad line costs time, never a wrong result."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from mlperf_tiny.dut import Dut, Mode, Timeouts
from tests.mlperf_tiny.conftest import ProcessLine, device
from tinydeploy.errors import DeviceError

FAST = Timeouts(answer_s=0.25, infer_s=0.25, tries=30)


class NoisyLine:
    """Changes and drops bytes in both directions, pauses for 200 ms, and talks by itself at the start."""

    name = "noisy"
    seconds_per_byte = 0.0

    def __init__(self, inner: ProcessLine, seed: int, rate: float) -> None:
        self._inner = inner
        self._random = random.Random(seed)
        self._rate = rate
        self._boot = b"\xff\x00boot noise m-rea\n"

    def write(self, data: bytes) -> None:
        self._inner.write(self._damaged(data))

    def read(self, timeout_s: float) -> bytes:
        if self._random.random() < 0.01:
            time.sleep(0.2)
        boot, self._boot = self._boot, b""
        return boot or self._damaged(self._inner.read(timeout_s))

    def close(self) -> None:
        self._inner.close()

    def _damaged(self, data: bytes) -> bytes:
        out = bytearray()
        for byte in data:
            fate = self._random.random()
            if fate < self._rate / 2:
                continue
            out.append(self._random.randrange(256) if fate < self._rate else byte)
        return bytes(out)


def test_a_good_line_needs_no_retries(program: Path) -> None:
    with device(program) as line:
        dut = Dut(line)
        dut.load(bytes(range(100)))
        answer = dut.infer(4, 1)
    assert (dut.name, dut.benchmark, dut.mode) == ("host", "kws01", Mode.PERFORMANCE)
    assert (answer.results, answer.elapsed_us, dut.retries) == ((4.95, -4.95), 4000, 0)


@pytest.mark.parametrize("seed", range(6))
def test_a_noisy_line_gives_right_results_or_none(program: Path, seed: int) -> None:
    data = bytes(random.Random(seed).randbytes(100))
    right = sum(data) / 1000
    with device(program) as line:
        dut = Dut(NoisyLine(line, seed, 1e-3), timeouts=FAST)
        for _ in range(3):
            dut.load(data)
            assert dut.infer(2, 1).results == (right, -right)


def test_a_hopeless_line_is_one_message(program: Path) -> None:
    with (
        device(program) as line,
        pytest.raises(DeviceError, match="no sound answer to 'name' after 3 tries") as caught,
    ):
        Dut(NoisyLine(line, 1, 0.5), timeouts=Timeouts(0.05, 0.05, 3))
    assert "energy firmware talks at 9600 baud" in str(caught.value)


def test_firmware_of_the_wrong_mode_is_named(program: Path) -> None:
    with device(program, "energy") as line:
        dut = Dut(line)
        with pytest.raises(DeviceError, match="built for energy mode, needed is performance mode"):
            dut.expect("kws01", Mode.PERFORMANCE)
        with pytest.raises(DeviceError, match="runs kws01, asked for was ad01"):
            dut.expect("ad01", Mode.ENERGY)
