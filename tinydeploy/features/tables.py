"""The integer tables of a pipeline: one making of them, for the reference and for the C."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tinydeploy.features.config import MelConfig, Spectrum
from tinydeploy.fixed_point import Int64

FRAME_BITS = 19
"""Bits of a frame's largest value after it was brought to a common exponent."""

POWER_SHIFT = 12
"""Bits that powers lose before they are weighted, so that sums stay below 2**63."""

LOG_SEGMENTS = 64
MATRIX_BITS = 20
OUTPUT_SHIFT = 16 + MATRIX_BITS
_V_BITS = 15 + 5 + 15 - 6
"""log2 of the integer that a real 1.0 becomes before the common exponent: sample, 32nds, window, shift."""


@dataclass(frozen=True, slots=True)
class Tables:
    """``shape`` Q15, ``twiddles`` Q30 as (cos, sin), ``weights`` Q15 of the bands (first, count) one after
    another, ``log2`` Q16, ``matrix`` Q20 in steps per unit of log2, ``offsets`` Q36 in steps.

    ``log2_unit`` Q16 is added to a sum's log2; ``exponents`` is how often the frame's shift counts in it.
    """

    shape: Int64
    twiddles: Int64
    bands: tuple[tuple[int, int], ...]
    weights: Int64
    log2: Int64
    matrix: Int64
    offsets: Int64
    log2_unit: int
    exponents: int
    epsilon: int


def tables_of(config: MelConfig) -> Tables:
    """The tables of a pipeline."""
    weights = np.floor(config.mel_weights() * 32768 + 0.5).astype(np.int64)
    bands, packed = [], []
    for column in weights.T:
        inside = np.flatnonzero(column)
        first, count = (int(inside[0]), int(inside[-1] - inside[0] + 1)) if inside.size else (0, 0)
        bands.append((first, count))
        packed.append(column[first : first + count])
    angles = 2 * np.pi * np.arange(config.fft // 2) / config.fft
    twiddles = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    power = config.spectrum is Spectrum.POWER
    exponents = 2 if power else 1
    units = 15 + exponents * (_V_BITS + 1) - (POWER_SHIFT if power else 0)
    length = math.log2(config.window) if power else 0.0
    matrix = np.eye(config.bins) if config.coefficients is None else config.cosines()
    constant = config.offset if config.coefficients is None else 0.0
    steps = constant / config.scale + config.zero_point
    return Tables(
        shape=_rounded(np.minimum(config.window_shape() * 32768, 32767)),
        twiddles=_rounded(twiddles * 2**30),
        bands=tuple(bands),
        weights=np.concatenate(packed),
        log2=_rounded(np.log2(1 + np.arange(LOG_SEGMENTS + 1) / LOG_SEGMENTS) * 65536),
        matrix=_rounded(matrix * config.gain / config.scale * 2**MATRIX_BITS),
        offsets=_rounded(np.full(config.outputs, steps * 2.0**OUTPUT_SHIFT)),
        log2_unit=round(-(units + length) * 65536),
        exponents=exponents,
        epsilon=round(config.epsilon * 2.0**units),
    )


def _rounded(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> Int64:
    return np.asarray(np.floor(values + 0.5), np.int64)
