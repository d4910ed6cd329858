"""The streaming wake word: a recording through a device, detections against the windows of the truth file."""

from __future__ import annotations

import json
import re
import wave
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mlperf_tiny.dut import Dut, Mode
from tinydeploy.errors import DeviceError, TinyDeployError

RATE_HZ = 16_000
WINDOW = 1024
STRIDE = 512
FRAMES = 30
THRESHOLD = 115
"""Of the score, in steps: the reference firmware's."""

LATE_S = 1.0
DEBOUNCE_S = 1.0
LIMIT = 8
"""False positives, and false negatives, that the rules allow."""


@dataclass(frozen=True, slots=True)
class Recording:
    """A 16 kHz recording and the windows (start, end) in seconds in which the wake word is spoken."""

    name: str
    samples: npt.NDArray[np.int16]
    windows: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Detections:
    """When the device heard the wake word, in seconds, and what that is worth."""

    times_s: tuple[float, ...]
    true_positives: int
    false_negatives: int
    false_positives: int

    @property
    def passed(self) -> bool:
        return self.false_positives <= LIMIT and self.false_negatives <= LIMIT

    def as_json(self) -> dict[str, object]:
        return {
            "bench": "sww01",
            "detections_s": list(self.times_s),
            "true_positives": self.true_positives,
            "false_negatives": self.false_negatives,
            "false_positives": self.false_positives,
            "passed": self.passed,
        }


def read_recordings(truth: Path) -> tuple[Recording, ...]:
    """The recordings of a truth file (a JSON list with wav_file and detection_windows), beside it.

    Raises TinyDeployError that names the file at fault.
    """
    try:
        entries = json.loads(truth.read_text(encoding="utf-8"))
        return tuple(
            Recording(
                entry["wav_file"],
                read_wave(truth.parent / entry["wav_file"]),
                tuple((float(start), float(end)) for start, end in entry["detection_windows"]),
            )
            for entry in entries
        )
    except OSError as error:
        raise TinyDeployError(f"cannot be read: {error.strerror}", where=str(truth)) from None
    except (ValueError, KeyError, TypeError) as error:
        raise TinyDeployError(
            f"is not a truth file of recordings: {error!r:.100}", where=str(truth)
        ) from None


def read_wave(path: Path) -> npt.NDArray[np.int16]:
    """The first channel of a 16-bit, 16 kHz WAV file."""
    try:
        with wave.open(str(path)) as stream:
            channels, width, rate = stream.getnchannels(), stream.getsampwidth(), stream.getframerate()
            data = stream.readframes(stream.getnframes())
    except (OSError, EOFError, wave.Error) as error:
        raise TinyDeployError(f"is not a WAV file: {error}", where=str(path)) from None
    if (width, rate) != (2, RATE_HZ):
        raise TinyDeployError(
            f"has {8 * width} bits at {rate} Hz, needed are 16 at {RATE_HZ}", where=str(path)
        )
    return np.frombuffer(data, "<i2")[::channels].astype(np.int16)


def stream(
    dut: Dut, recording: Recording, progress: Callable[[int], None] = lambda _done: None
) -> list[float]:
    """Play a recording to a device; the result is when, in seconds of the stream, it detected.

    Raises DeviceError where the device does not stream, or lost samples.
    """
    dut.expect("sww01", Mode.PERFORMANCE)
    dut.ask("start")
    data = recording.samples.astype("<i2").tobytes()
    for start in range(0, len(data), 2 * STRIDE):
        dut.load(data[start : start + 2 * STRIDE])
        fed = (start + 2 * STRIDE) // 2
        expected = max(0, (min(fed, len(recording.samples)) - WINDOW) // STRIDE + 1)
        # Not asked again where the answer is damaged: the samples would count twice.
        if dut.ask("pcm", tries=1) != [f"m-strides-{expected}"]:
            raise DeviceError(
                f"the device is at another place of the stream than {fed / RATE_HZ:.3f} s",
                fix="Play the recording again",
            )
        progress(fed)
    lines = dut.ask("stop")
    found = [match for line in lines if (match := re.fullmatch(r"m-detections-\[([\d,]*)\]", line))]
    if len(found) != 1:
        raise DeviceError(f"no detections in {lines!r:.100}", fix="Flash the firmware of sww01")
    strides = [int(text) for text in found[0][1].split(",") if text]
    return [(WINDOW + stride * STRIDE) / RATE_HZ for stride in strides]


def judge(times_s: Sequence[float], windows: Sequence[tuple[float, float]]) -> Detections:
    """Count as the rules do: a detection up to a second after a word is one of it; those outside are false,
    and so many within a second are one."""
    hits = sum(any(start <= time < end + LATE_S for time in times_s) for start, end in windows)
    outside = [t for t in sorted(times_s) if not any(start <= t < end + LATE_S for start, end in windows)]
    false, last = 0, -DEBOUNCE_S
    for time in outside:
        if time - last >= DEBOUNCE_S:
            false, last = false + 1, time
    return Detections(tuple(times_s), hits, len(windows) - hits, false)
