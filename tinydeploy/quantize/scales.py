"""From ranges to scales, and from real numbers to steps."""

from __future__ import annotations

import math

import numpy as np

from tinydeploy.ir import Array, DType, Quant
from tinydeploy.quantize.histogram import Floats

SMALLEST_SCALE = 2.0**-60
"""Below this a tensor counts as zero: scales and their products stay normal float32 numbers."""


def activation_quant(low: float, high: float, dtype: DType) -> Quant:
    """Scale and zero point that cover ``low`` to ``high`` and hold 0 exactly; the scale is a float32.

    Unsigned and 8-bit types are asymmetric; int16 is symmetric, as every runtime wants it.
    """
    low, high = min(low, 0.0), max(high, 0.0)
    least, most = dtype.limits
    if dtype is DType.INT16:
        scale = _scale(max(-low, high) / most)
        return Quant((scale,), (0,))
    scale = _scale((high - low) / (most - least))
    return Quant((scale,), (max(least, min(most, round(least - low / scale))),))


def weight_quant(peaks: Floats, axis: int | None, most: int = 127) -> Quant:
    """Symmetric scales that bring each of ``peaks`` (largest sizes, one per channel) to ``most`` steps."""
    scales = tuple(_scale(float(peak) / most) for peak in np.atleast_1d(peaks))
    return Quant(scales, (0,) * len(scales), axis)


def _scale(real: float) -> float:
    scale = float(np.float32(real))
    return scale if math.isfinite(scale) and scale >= SMALLEST_SCALE else 1.0


def peaks_of(weights: Array, axis: int | None) -> Floats:
    """Largest size per index of ``axis``, or of the whole tensor."""
    others = tuple(index for index in range(weights.ndim) if index != axis)
    return np.atleast_1d(np.abs(weights.astype(np.float64)).max(axis=others if axis is not None else None))


def along(values: tuple[float, ...] | tuple[int, ...], axis: int | None, rank: int) -> Floats:
    """Numbers per channel, shaped to meet an array of this rank."""
    shape = [1] * rank
    if axis is not None:
        shape[axis] = -1
    return np.asarray(values, np.float64).reshape(shape)


def steps_of(real: Array, quant: Quant, dtype: DType) -> Array:
    """The nearest steps, ties to even, clipped to the type."""
    scales = along(quant.scales, quant.axis, real.ndim)
    zero_points = along(quant.zero_points, quant.axis, real.ndim)
    steps = np.rint(real.astype(np.float64) / scales) + zero_points
    return np.asarray(np.clip(steps, *dtype.limits).astype(dtype.numpy))


def real_of(steps: Array, quant: Quant) -> Floats:
    """What steps mean."""
    scales = along(quant.scales, quant.axis, steps.ndim)
    zero_points = along(quant.zero_points, quant.axis, steps.ndim)
    return np.asarray((steps.astype(np.float64) - zero_points) * scales)


def range_of(quant: Quant, dtype: DType) -> tuple[float, float]:
    """The smallest and the largest number that a per-tensor quantization holds."""
    low, high = ((limit - quant.zero_point) * quant.scale for limit in dtype.limits)
    return low, high


def bias_quant(data: Quant, weights: Quant) -> Quant:
    """The accumulator's scales: products of the data's and the weights', in float32 as files hold them."""
    scales = tuple(float(np.float32(np.float32(data.scale) * np.float32(s))) for s in weights.scales)
    return Quant(scales, (0,) * len(scales), None if weights.per_tensor else 0)
