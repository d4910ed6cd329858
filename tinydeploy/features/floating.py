"""The pipeline in float64: what the integers are measured against."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tinydeploy.features.config import Float64, MelConfig, Spectrum

_SMALLEST = 1e-30


def features_float(
    config: MelConfig, frames: npt.NDArray[np.int16], before: npt.NDArray[np.int16]
) -> Float64:
    """Real features [frames, outputs] of frames [frames, window]; ``before`` is the sample before each."""
    samples = np.concatenate([before[:, None], frames], axis=1).astype(np.float64) / 32768
    emphasized = samples[:, 1:] - config.preemphasis / 32 * samples[:, :-1]
    magnitude = np.abs(np.fft.rfft(emphasized * config.window_shape(), config.fft))
    spectrum = magnitude**2 / config.window if config.spectrum is Spectrum.POWER else magnitude
    energies = spectrum @ config.mel_weights() + config.epsilon
    logs = np.log2(np.maximum(energies, _SMALLEST))
    if config.coefficients is None:
        return np.asarray(config.gain * logs + config.offset, np.float64)
    return np.asarray(config.gain * logs @ config.cosines().T, np.float64)
