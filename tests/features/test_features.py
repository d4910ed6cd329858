"""Log-mel energies and MFCC: the C has the reference's bits, the reference is close to the float pipeline."""

from __future__ import annotations

import subprocess
import wave
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from tests.shared_data import SHARED, needs_shared
from tinydeploy.features import (
    MelConfig,
    c_files,
    features_float,
    frames_of,
    integer_features,
    kws_mfcc,
    sww_log_mel,
)
from tinydeploy.toolchain import HOST, select

HERE = Path(__file__).parent
CONFIGS = {"log_mel": sww_log_mel(1 / 255, -128), "mfcc": kws_mfcc(0.5847029, 83)}
Int16 = npt.NDArray[np.int16]


def signals() -> dict[str, Int16]:
    """Recordings of a second: loud and faint noise, tones, clicks, full scale, silence."""
    rng = np.random.default_rng(7)
    time = np.arange(16_000) / 16_000
    noise = rng.standard_normal(16_000)
    click = np.zeros(16_000)
    click[::700] = 1
    return {
        "noise": _int16(8000 * noise),
        "faint": _int16(3 * noise),
        "tone": _int16(30_000 * np.sin(2 * np.pi * 440 * time)),
        "chirp": _int16(12_000 * np.sin(2 * np.pi * (100 + 3000 * time) * time) + 20 * noise),
        "clicks": _int16(32_767 * click),
        "full scale": np.where(rng.random(16_000) < 0.5, 32_767, -32_768).astype(np.int16),
        "silence": np.zeros(16_000, np.int16),
        "one bit": (np.arange(16_000) % 2).astype(np.int16),
    }


def _int16(values: npt.NDArray[np.float64]) -> Int16:
    return np.clip(np.round(values), -32_768, 32_767).astype(np.int16)


def real_steps(config: MelConfig, frames: Int16, before: Int16) -> npt.NDArray[np.float64]:
    """The float pipeline's features in steps, not rounded, cut to int8."""
    steps = features_float(config, frames, before) / config.scale + config.zero_point
    return np.clip(steps, -128, 127)


@pytest.mark.parametrize("name", CONFIGS)
@pytest.mark.parametrize("kind", ["noise", "faint", "tone", "chirp", "clicks", "full scale", "one bit"])
def test_the_integers_are_within_a_step_of_the_float_pipeline(name: str, kind: str) -> None:
    config = CONFIGS[name]
    frames, before = frames_of(config, signals()[kind])
    found = integer_features(config, frames, before)
    distance = np.abs(found - real_steps(config, frames, before))
    # Half a step is the rounding of the result, a whole one its truncation. Bands far below a pure tone hold
    # what rounding the frame to 19 bits leaves.
    allowed = 2.2 if (name, kind) == ("mfcc", "tone") else (1.05 if config.truncate else 0.56)
    assert distance.max() <= allowed


def test_silence_is_the_lowest_step() -> None:
    config = CONFIGS["log_mel"]
    assert (integer_features(config, *frames_of(config, signals()["silence"])) == -128).all()


@pytest.mark.parametrize("name", CONFIGS)
def test_the_c_has_the_same_bits(name: str, tmp_path: Path) -> None:
    config = CONFIGS[name]
    for file, text in c_files(config, "front").items():
        (tmp_path / file).write_text(text)
    toolchain = select("gcc", HOST, sanitize=True)
    sources = [tmp_path / "front.c", tmp_path / "td_mel.c", HERE / "mel_process.c"]
    objects = toolchain.compile(sources, include_dirs=[tmp_path], out_dir=tmp_path / "obj", optimize="-O1")
    toolchain.link_host(objects, tmp_path / "mel")
    pairs = [frames_of(config, recording) for recording in signals().values()]
    frames = np.concatenate([frames for frames, _ in pairs])
    before = np.concatenate([first for _, first in pairs])
    stdin = np.concatenate([before[:, None], frames], axis=1).astype("<i2").tobytes()
    done = subprocess.run([tmp_path / "mel"], input=stdin, capture_output=True, check=True, timeout=60)
    found = np.frombuffer(done.stdout, np.int8).reshape(len(frames), config.outputs)
    assert np.array_equal(found, integer_features(config, frames, before))


@needs_shared
def test_a_real_recording_is_within_a_step() -> None:
    with wave.open(str(SHARED / "mlperf_tiny" / "sww" / "short_wav_easy10s.wav")) as recording:
        channels = recording.getnchannels()
        data = np.frombuffer(recording.readframes(recording.getnframes()), "<i2")[::channels]
    for config in CONFIGS.values():
        frames, before = frames_of(config, data.astype(np.int16))
        found = integer_features(config, frames, before)
        distance = np.abs(found - real_steps(config, frames, before))
        assert distance.max() <= (1.05 if config.truncate else 0.56)


def test_configurations_that_make_no_sense_are_refused() -> None:
    with pytest.raises(ValueError, match="an FFT of 1000 for windows of 1024"):
        MelConfig(**{**_fields(CONFIGS["log_mel"]), "fft": 1000})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"mel bands from 0\.0 to 9000\.0 Hz"):
        MelConfig(**{**_fields(CONFIGS["log_mel"]), "high_hz": 9000.0})  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'a b' is not a C identifier"):
        c_files(CONFIGS["mfcc"], "a b")


def _fields(config: MelConfig) -> dict[str, object]:
    return {name: getattr(config, name) for name in config.__slots__}
