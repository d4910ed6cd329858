"""A histogram of float32 numbers of any size in fixed memory, so that calibration streams.

Bins are those of the number format itself: sign, exponent and the first six bits of the mantissa. Their
relative width is below 1.6 % everywhere, an outlier costs the others no resolution, and counts are integers,
so that neither the order of the samples nor their batches change a result.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tinydeploy.ir import Array

Floats = npt.NDArray[np.float64]

_MANTISSA_BITS = 6
_DROPPED_BITS = 23 - _MANTISSA_BITS
_FIRST_EXPONENT = 127 - 40
_EXPONENTS = 88
_FIRST = _FIRST_EXPONENT << _MANTISSA_BITS
HALF = _EXPONENTS << _MANTISSA_BITS
"""Bins of one sign: sizes from 2**-40 to 2**48; smaller ones count as zero, larger ones as the largest."""


def _edges() -> Floats:
    """Lower edges of the bins of positive numbers, and the upper edge of the last."""
    steps = np.arange(HALF + 1)
    exponent = (steps >> _MANTISSA_BITS) + _FIRST_EXPONENT - 127
    mantissa = steps & ((1 << _MANTISSA_BITS) - 1)
    edges: Floats = np.ldexp(1.0 + mantissa / (1 << _MANTISSA_BITS), exponent)
    edges[0] = 0.0
    return edges


EDGES = _edges()
CENTRES: Floats = np.concatenate([-((EDGES[:-1] + EDGES[1:]) / 2)[::-1], (EDGES[:-1] + EDGES[1:]) / 2])
"""Middle of every bin, in ascending order: the negative bins, then the positive ones."""
WIDTHS: Floats = np.concatenate([np.diff(EDGES)[::-1], np.diff(EDGES)])


class Histogram:
    """Counts of numbers by size; ``counts`` is in the order of ``CENTRES``."""

    __slots__ = ("counts",)

    def __init__(self) -> None:
        self.counts: npt.NDArray[np.int64] = np.zeros(2 * HALF, np.int64)

    def add(self, numbers: Array) -> None:
        """Count finite numbers."""
        flat = np.ascontiguousarray(numbers, np.float32).reshape(-1)
        bits = flat.view(np.int32)
        place = np.clip(((bits & 0x7FFFFFFF) >> _DROPPED_BITS) - _FIRST, 0, HALF - 1)
        # Mirrored: bin HALF - 1 - k holds the negative numbers of the size of bin HALF + k.
        index = np.where(bits < 0, HALF - 1 - place, HALF + place)
        self.counts += np.bincount(index, minlength=2 * HALF)

    @property
    def total(self) -> int:
        return int(self.counts.sum())

    def quantile(self, share: float) -> float:
        """The number below which ``share`` of all lie, to the width of a bin; 0 where nothing was counted."""
        total = self.total
        if total == 0:
            return 0.0
        cumulated = np.cumsum(self.counts)
        index = int(np.searchsorted(cumulated, max(1.0, share * total)))
        return float(CENTRES[min(index, 2 * HALF - 1)])

    def outside(self, low: float, high: float) -> int:
        """How many numbers lie in bins that are wholly outside ``low`` to ``high``."""
        outer = np.less(CENTRES + WIDTHS / 2, low) | np.greater(CENTRES - WIDTHS / 2, high)
        return int(self.counts[outer].sum())
