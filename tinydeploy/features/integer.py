"""The pipeline in integers, exactly as the C computes it: the reference of ``td_mel_frame``."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tinydeploy.features.config import MelConfig, Spectrum
from tinydeploy.features.tables import (
    FRAME_BITS,
    LOG_SEGMENTS,
    OUTPUT_SHIFT,
    POWER_SHIFT,
    Tables,
    tables_of,
)
from tinydeploy.fixed_point import Int64

_NOTHING = -(64 << 16)
"""log2 of an empty sum, Q16."""

Int16 = npt.NDArray[np.int16]


def frames_of(config: MelConfig, samples: Int16) -> tuple[Int16, Int16]:
    """(frames, sample before each) of a recording; an end that fills no frame is left out."""
    count = max(0, (len(samples) - config.window) // config.stride + 1)
    starts = np.arange(count) * config.stride
    frames = samples[starts[:, None] + np.arange(config.window)[None, :]]
    before = np.where(starts > 0, samples[np.maximum(starts - 1, 0)], 0).astype(np.int16)
    return frames.astype(np.int16), before


def integer_features(config: MelConfig, frames: Int16, before: Int16) -> npt.NDArray[np.int8]:
    """Steps [frames, outputs] of frames [frames, window]."""
    tables = tables_of(config)
    values, shifts = _windowed(config, tables, frames, before)
    powers = _powers(tables, values)
    if config.spectrum is Spectrum.MAGNITUDE:
        sums = _band_sums(tables, _square_root(powers))
    else:
        sums = _band_sums(tables, powers >> POWER_SHIFT)
    counted = tables.exponents * shifts[:, None]
    sums += np.where(
        counted >= 0, tables.epsilon >> np.maximum(counted, 0), tables.epsilon << np.maximum(-counted, 0)
    )
    logs = np.where(
        sums > 0, _log2(tables, np.maximum(sums, 1)) + tables.log2_unit + (counted << 16), _NOTHING
    )
    sums = logs @ tables.matrix.T + tables.offsets
    if config.truncate:
        steps = np.sign(sums) * (np.abs(sums) >> OUTPUT_SHIFT)
    else:
        steps = (sums + (1 << (OUTPUT_SHIFT - 1))) >> OUTPUT_SHIFT
    return np.asarray(np.clip(steps, -128, 127), np.int8)


def _windowed(config: MelConfig, tables: Tables, frames: Int16, before: Int16) -> tuple[Int64, Int64]:
    """Emphasized, windowed, padded samples of FRAME_BITS bits, and the right shift that made them so."""
    samples = np.concatenate([before[:, None], frames], axis=1).astype(np.int64)
    emphasized = 32 * samples[:, 1:] - config.preemphasis * samples[:, :-1]
    values = (emphasized * tables.shape + 32) >> 6
    shifts = _bits(np.abs(values).max(axis=1)) - FRAME_BITS
    right, left = np.maximum(shifts, 0)[:, None], np.maximum(-shifts, 0)[:, None]
    half = np.where(right > 0, 1 << np.maximum(right - 1, 0), 0)
    scaled = ((values + half) >> right) << left
    padded = np.zeros((len(frames), config.fft), np.int64)
    padded[:, : config.window] = scaled
    return padded, shifts


def _powers(tables: Tables, values: Int64) -> Int64:
    """Four times the squared magnitudes of the spectrum, [frames, fft / 2 + 1]."""
    fft = values.shape[1]
    real, imaginary = _complex_fft(tables, values[:, 0::2].copy(), values[:, 1::2].copy())
    half = fft // 2
    forward = np.arange(half + 1) % half
    backward = (half - np.arange(half + 1)) % half
    even_re = real[:, forward] + real[:, backward]
    even_im = imaginary[:, forward] - imaginary[:, backward]
    odd_re = real[:, forward] - real[:, backward]
    odd_im = imaginary[:, forward] + imaginary[:, backward]
    cosine = np.append(tables.twiddles[:, 0], -(1 << 30))
    sine = np.append(tables.twiddles[:, 1], 0)
    # -i * exp(-i a) * odd = (odd_im * cos - odd_re * sin) - i * (odd_re * cos + odd_im * sin)
    turned_re = _rounded(odd_im * cosine - odd_re * sine)
    turned_im = -_rounded(odd_re * cosine + odd_im * sine)
    return np.asarray((even_re + turned_re) ** 2 + (even_im + turned_im) ** 2, np.int64)


def _complex_fft(tables: Tables, real: Int64, imaginary: Int64) -> tuple[Int64, Int64]:
    """Radix 2, decimation in time, in place; the twiddles are those of twice the length."""
    points = real.shape[1]
    bits = points.bit_length() - 1
    order = [int(format(index, f"0{bits}b")[::-1], 2) for index in range(points)]
    real, imaginary = real[:, order], imaginary[:, order]
    size = 2
    while size <= points:
        half = size // 2
        stride = 2 * points // size
        cosine, sine = tables.twiddles[: half * stride : stride].T
        shape = (len(real), points // size, size)
        a_re, b_re = np.split(real.reshape(shape), 2, axis=2)
        a_im, b_im = np.split(imaginary.reshape(shape), 2, axis=2)
        turned_re = _rounded(b_re * cosine + b_im * sine)
        turned_im = _rounded(b_im * cosine - b_re * sine)
        real = np.concatenate([a_re + turned_re, a_re - turned_re], axis=2).reshape(len(real), points)
        imaginary = np.concatenate([a_im + turned_im, a_im - turned_im], axis=2).reshape(len(real), points)
        size *= 2
    return real, imaginary


def _rounded(product: Int64) -> Int64:
    return np.asarray((product + (1 << 29)) >> 30, np.int64)


def _band_sums(tables: Tables, spectrum: Int64) -> Int64:
    sums, position = [], 0
    for first, count in tables.bands:
        weights = tables.weights[position : position + count]
        sums.append(spectrum[:, first : first + count] @ weights)
        position += count
    return np.stack(sums, axis=1)


def _bits(values: Int64) -> Int64:
    """Bits of a number that is not negative; 0 for 0."""
    exponents = np.frexp(values.astype(np.float64))[1].astype(np.int64)
    too_many = (exponents > 0) & (values >> np.maximum(exponents - 1, 0) == 0)  # rounded up to a power of two
    return np.asarray(exponents - too_many, np.int64)


def _square_root(values: Int64) -> Int64:
    root = np.floor(np.sqrt(values.astype(np.float64))).astype(np.int64)
    root -= root * root > values
    return np.asarray(root + ((root + 1) * (root + 1) <= values), np.int64)


def _log2(tables: Tables, values: Int64) -> Int64:
    """log2 in Q16, linear between the entries of the table."""
    whole = _bits(values) - 1
    aligned = np.where(whole >= 16, values >> np.maximum(whole - 16, 0), values << np.maximum(16 - whole, 0))
    fraction = aligned & 0xFFFF
    segment, rest = fraction >> 10, fraction & 1023
    low, high = tables.log2[segment], tables.log2[segment + 1]
    assert len(tables.log2) == LOG_SEGMENTS + 1
    return np.asarray((whole << 16) + low + (((high - low) * rest + 512) >> 10), np.int64)
