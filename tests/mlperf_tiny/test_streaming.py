"""The streaming wake word: how detections are counted, and the official ten seconds from samples to words."""

from __future__ import annotations

import dataclasses
import json
import wave
from pathlib import Path

import pytest

from mlperf_tiny.catalogue import bench_of, model_path
from mlperf_tiny.devices import emulated_dut
from mlperf_tiny.firmware import build_bench, compile_bench
from mlperf_tiny.streaming import judge, read_recordings, stream
from tests.shared_data import SHARED, needs_shared
from tinydeploy.boards import load_board
from tinydeploy.errors import TinyDeployError
from tinydeploy.toolchain import cpu_spec, select

WINDOWS = ((1.0, 1.6), (4.0, 4.8))


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ((1.4, 5.0), (2, 0, 0)),
        ((2.59, 5.79), (2, 0, 0)),  # up to a second after the word
        ((2.61,), (0, 2, 1)),
        ((1.2, 1.5), (1, 1, 0)),  # twice in one window
        ((3.0, 3.4, 3.9, 8.0, 9.1), (0, 2, 3)),  # false ones within a second are one
        ((), (0, 2, 0)),
    ],
)
def test_counting(times: tuple[float, ...], expected: tuple[int, int, int]) -> None:
    found = judge(times, WINDOWS)
    assert (found.true_positives, found.false_negatives, found.false_positives) == expected


def test_bad_recordings_are_named(tmp_path: Path) -> None:
    truth = tmp_path / "truth.json"
    with pytest.raises(TinyDeployError, match="cannot be read"):
        read_recordings(truth)
    truth.write_text(json.dumps([{"wav_file": "x.wav"}]))
    with pytest.raises(TinyDeployError, match="is not a WAV file"):
        read_recordings(truth)
    with wave.open(str(tmp_path / "x.wav"), "wb") as recording:
        recording.setnchannels(1)
        recording.setsampwidth(2)
        recording.setframerate(8000)
        recording.writeframes(b"\0\0")
    with pytest.raises(TinyDeployError, match="has 16 bits at 8000 Hz, needed are 16 at 16000"):
        read_recordings(truth)
    truth.write_text("[{}]")
    with pytest.raises(TinyDeployError, match="is not a truth file"):
        read_recordings(truth)


@needs_shared
@pytest.mark.emulated
@pytest.mark.slow
@pytest.mark.parametrize(
    ("steps", "words", "counts"),
    [(9, [1.408], (1, 2, 0)), pytest.param(26, [1.408, 5.024], (2, 1, 0), marks=pytest.mark.full)],
)
def test_the_wake_words_of_the_official_ten_seconds(
    steps: int, words: list[float], counts: tuple[int, int, int], tmp_path: Path
) -> None:
    """The two words that the reference firmware finds within 5.2 s; 0.2 s a step, strides of 32 ms."""
    bench, board = bench_of("sww01"), load_board("qemu-m4")
    compiled = compile_bench(bench, model_path(bench, SHARED / "mlperf_tiny"), board)
    toolchain = select(None, cpu_spec(board.chip.cpu))
    built = build_bench(bench, compiled, board, toolchain, tmp_path, emulated=True)
    (recording,) = read_recordings(SHARED / "mlperf_tiny" / "sww" / "sww_short_test.json")
    with emulated_dut(board, built.firmware.elf)(lambda _line: None) as dut:
        times = stream(dut, dataclasses.replace(recording, samples=recording.samples[: steps * 3200]))
    assert times == words
    found = judge(times, recording.windows)
    assert (found.true_positives, found.false_negatives, found.false_positives) == counts
