"""From a tensor's distribution to the range that its steps cover: one function per method."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import numpy as np

from tinydeploy.ir import DType
from tinydeploy.quantize.histogram import CENTRES, WIDTHS, Floats, Histogram
from tinydeploy.quantize.observe import Observer
from tinydeploy.quantize.scales import activation_quant

Range = tuple[float, float]

PERCENTILE = 0.9999
"""Share of the numbers that the percentile method covers, both ends together."""

_SHRINKS = np.linspace(1.0, 0.2, 41)
_KL_BINS = 2048


class Method(Enum):
    """How a range is chosen.

    ``robust``: samples that stick out are left out, then the least squared error. ``minmax``: everything.
    ``percentile``: all but 0.01 % of the numbers. ``mse``: the least squared error over everything.
    ``entropy``: the least loss of information (Kullback-Leibler).
    """

    ROBUST = "robust"
    MINMAX = "minmax"
    PERCENTILE = "percentile"
    MSE = "mse"
    ENTROPY = "entropy"


def choose_range(method: Method, observer: Observer, dtype: DType) -> Range:
    """The range of a tensor; it holds 0 and lies within what was observed."""
    low, high = _CHOICES[method](observer, dtype)
    return min(low, 0.0), max(high, 0.0)


def _minmax(observer: Observer, _dtype: DType) -> Range:
    return observer.low, observer.high


def _percentile(observer: Observer, _dtype: DType) -> Range:
    tail = (1.0 - PERCENTILE) / 2
    histogram = observer.histogram
    low, high = histogram.quantile(tail), histogram.quantile(1.0 - tail)
    return max(low, observer.low), min(high, observer.high)


def _mse(observer: Observer, dtype: DType) -> Range:
    return least_error(observer.histogram, observer.low, observer.high, dtype)


def _robust(observer: Observer, dtype: DType) -> Range:
    low, high = -observer.below.robust(), observer.above.robust()
    return least_error(observer.histogram, low, high, dtype, within=True)


def least_error(
    histogram: Histogram, low: float, high: float, dtype: DType, *, within: bool = False
) -> Range:
    """The range inside ``low`` to ``high`` with the least squared error; ``within`` ignores the rest.

    Both ends shrink together first, then each alone around the best.
    """
    kept = histogram.counts > 0
    if within:
        kept &= np.greater_equal(CENTRES, min(low, 0.0) - WIDTHS) & np.less_equal(
            CENTRES, max(high, 0.0) + WIDTHS
        )
    counts, centres, widths = histogram.counts[kept].astype(np.float64), CENTRES[kept], WIDTHS[kept]

    def error(bounds: Range) -> float:
        return _squared_error(counts, centres, widths, bounds, dtype)

    low, high = min(low, 0.0), max(high, 0.0)
    best = min(((low * shrink, high * shrink) for shrink in _SHRINKS), key=error)
    for _ in range(2):
        best = min(((best[0] * s, best[1]) for s in _SHRINKS), key=error)
        best = min(((best[0], best[1] * s) for s in _SHRINKS), key=error)
    return best


def _squared_error(counts: Floats, centres: Floats, widths: Floats, bounds: Range, dtype: DType) -> float:
    quant = activation_quant(*bounds, dtype)
    least, most = ((limit - quant.zero_point) * quant.scale for limit in dtype.limits)
    clipped = np.clip(centres, least, most)
    nearest = np.rint(clipped / quant.scale) * quant.scale
    # Within a bin wider than a step the error is that of uniform noise; a narrow bin has its own.
    inner = np.where(widths >= quant.scale, quant.scale**2 / 12, (clipped - nearest) ** 2)
    return float((counts * ((centres - clipped) ** 2 + inner)).sum())


def _entropy(observer: Observer, dtype: DType) -> Range:
    """TensorRT's method on sizes: the threshold whose quantized distribution loses least information."""
    histogram = observer.histogram
    top = max(-observer.low, observer.high)
    if top <= 0.0:
        return observer.low, observer.high
    linear = _linear(histogram, top)
    levels = 128 if dtype.bits == 8 else _KL_BINS
    starts = range(levels, _KL_BINS + 1, max(1, _KL_BINS // 128))
    best = min(starts, key=lambda size: (_divergence(linear, size, levels), -size))
    threshold = top * best / _KL_BINS
    return max(observer.low, -threshold), min(observer.high, threshold)


def _linear(histogram: Histogram, top: float) -> Floats:
    """Sizes in bins of equal width up to ``top``: each bin's count spread evenly over those it meets."""
    half = len(CENTRES) // 2
    counts = (histogram.counts[half:] + histogram.counts[:half][::-1]).astype(np.float64)
    edges = np.concatenate([[0.0], CENTRES[half:] + WIDTHS[half:] / 2])
    cumulated = np.concatenate([[0.0], np.cumsum(counts)])
    grid = np.linspace(0.0, top, _KL_BINS + 1)
    at = np.interp(grid, edges, cumulated)
    at[-1] = cumulated[-1]
    return np.diff(at)


def _divergence(linear: Floats, size: int, levels: int) -> float:
    """KL divergence between the first ``size`` bins, the rest clipped onto the last, and their ``levels``."""
    reference = linear[:size].copy()
    reference[-1] += linear[size:].sum()
    owner = np.arange(size) * levels // size
    filled = linear[:size] > 0
    sums = np.bincount(owner, weights=linear[:size], minlength=levels)
    sizes = np.bincount(owner, weights=filled, minlength=levels)
    share = np.divide(sums, sizes, out=np.zeros(levels), where=sizes > 0)
    candidate = np.where(filled, share[owner], 0.0)
    p, q = reference / reference.sum(), candidate / max(candidate.sum(), 1e-30)
    some = p > 0
    return float((p[some] * np.log(p[some] / np.maximum(q[some], 1e-12))).sum())


_CHOICES: dict[Method, Callable[[Observer, DType], Range]] = {
    Method.ROBUST: _robust,
    Method.MINMAX: _minmax,
    Method.PERCENTILE: _percentile,
    Method.MSE: _mse,
    Method.ENTROPY: _entropy,
}
