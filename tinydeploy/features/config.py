"""What a feature pipeline is: window, spectrum, mel bands, logarithm, and the steps of the model's input."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

Float64 = npt.NDArray[np.float64]


class Spectrum(Enum):
    """What the mel bands sum: squared magnitudes over the window's length, or magnitudes."""

    POWER = "power"
    MAGNITUDE = "magnitude"


class Shape(Enum):
    """The window function; ``HANN`` is periodic, ``HAMMING`` symmetric, as the references have them."""

    HAMMING = "hamming"
    HANN = "hann"


@dataclass(frozen=True, slots=True)
class MelConfig:
    """A pipeline from 16-bit samples to int8 steps.

    Samples count as real numbers in [-1, 1). A frame of ``window`` samples, padded with zeros to ``fft`` (a
    power of two), gives ``bins`` mel energies E between ``low_hz`` and ``high_hz``. Each sample is lessened
    by ``preemphasis`` / 32 of the one before it. The result is ``gain * log2(E + epsilon) + offset`` for each
    bin or, with ``coefficients``, the first of the cosine transform (DCT-II, orthonormal) of
    ``gain * log2(E + epsilon)``. Then real = scale * (step - zero_point), the step rounded to nearest or,
    with ``truncate``, towards 0.
    """

    sample_rate_hz: int
    window: int
    stride: int
    fft: int
    bins: int
    low_hz: float
    high_hz: float
    shape: Shape
    spectrum: Spectrum
    gain: float
    offset: float
    scale: float
    zero_point: int
    preemphasis: int = 0
    epsilon: float = 0.0
    coefficients: int | None = None
    truncate: bool = False

    def __post_init__(self) -> None:
        if self.fft & (self.fft - 1) or not 64 <= self.fft <= 4096 or self.window > self.fft:
            raise ValueError(f"an FFT of {self.fft} for windows of {self.window} is not supported")
        if not 0 <= self.low_hz < self.high_hz <= self.sample_rate_hz / 2:
            raise ValueError(f"mel bands from {self.low_hz} to {self.high_hz} Hz are not below half the rate")
        if not 0 <= self.preemphasis < 32 or self.scale <= 0.0 or self.bins < 2:
            raise ValueError("preemphasis is 0 to 31, scale positive, bins at least 2")

    @property
    def outputs(self) -> int:
        """Steps per frame."""
        return self.bins if self.coefficients is None else self.coefficients

    def window_shape(self) -> Float64:
        """The window function, [window]."""
        n = np.arange(self.window)
        if self.shape is Shape.HAMMING:
            return np.asarray(0.54 - 0.46 * np.cos(2 * np.pi * n / (self.window - 1)), np.float64)
        return np.asarray(0.5 - 0.5 * np.cos(2 * np.pi * n / self.window), np.float64)

    def mel_weights(self) -> Float64:
        """Triangles of equal width on the HTK mel scale, [fft / 2 + 1, bins]; 0 Hz counts nowhere."""
        bins = self.fft // 2 + 1
        mels = _mel(np.linspace(0.0, self.sample_rate_hz / 2, bins))
        edges = np.linspace(
            float(_mel(np.array(self.low_hz))), float(_mel(np.array(self.high_hz))), self.bins + 2
        )
        lower, centre, upper = edges[:-2], edges[1:-1], edges[2:]
        rising = (mels[:, None] - lower) / (centre - lower)
        falling = (upper - mels[:, None]) / (upper - centre)
        weights = np.maximum(0.0, np.minimum(rising, falling))
        weights[0] = 0.0
        return np.asarray(weights, np.float64)

    def cosines(self) -> Float64:
        """The first rows of the orthonormal DCT-II, [coefficients, bins]."""
        rows = np.arange(self.outputs)[:, None]
        columns = np.arange(self.bins)[None, :]
        matrix = np.cos(np.pi * rows * (2 * columns + 1) / (2 * self.bins)) * math.sqrt(2 / self.bins)
        matrix[0] /= math.sqrt(2)
        return np.asarray(matrix, np.float64)


def _mel(hz: Float64) -> Float64:
    return np.asarray(1127.0 * np.log1p(hz / 700.0), np.float64)


def sww_log_mel(scale: float, zero_point: int) -> MelConfig:
    """The features of MLPerf Tiny's streaming wake word: 40 log-mel energies of 64 ms every 32 ms.

    Steps are truncated as the reference firmware's conversion to int8 does.
    """
    return MelConfig(
        sample_rate_hz=16_000,
        window=1024,
        stride=512,
        fft=1024,
        bins=40,
        low_hz=0.0,
        high_hz=8000.0,
        shape=Shape.HAMMING,
        spectrum=Spectrum.POWER,
        gain=10 * math.log10(2) / 64,
        offset=52 / 64,
        scale=scale,
        zero_point=zero_point,
        preemphasis=31,
        truncate=True,
    )


def kws_mfcc(scale: float, zero_point: int) -> MelConfig:
    """The features of MLPerf Tiny's keyword spotting: 10 MFCC of 30 ms every 20 ms."""
    return MelConfig(
        sample_rate_hz=16_000,
        window=480,
        stride=320,
        fft=512,
        bins=40,
        low_hz=20.0,
        high_hz=4000.0,
        shape=Shape.HANN,
        spectrum=Spectrum.MAGNITUDE,
        gain=math.log(2),
        offset=0.0,
        scale=scale,
        zero_point=zero_point,
        epsilon=1e-6,
        coefficients=10,
    )
