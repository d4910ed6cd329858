"""What calibration remembers of one tensor: a histogram, extremes, and who set them. Memory is constant."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array
from tinydeploy.quantize.histogram import Histogram

OUTLIER_FACTOR = 3.0
"""A sample's extreme is an outlier where it passes this many times what 95 % of the samples stay below."""

_USUAL = 0.95
_KEPT = 8


@dataclass(frozen=True, slots=True)
class Extreme:
    """The largest or smallest number of one sample."""

    value: float
    sample: int


class Side:
    """One end of a tensor's range, as sizes away from zero: per-sample extremes and the furthest of them."""

    __slots__ = ("far", "histogram")

    def __init__(self) -> None:
        self.histogram = Histogram()
        self.far: list[Extreme] = []

    def add(self, value: float, sample: int) -> None:
        self.histogram.add(np.array([max(value, 0.0)], np.float32))
        self.far.append(Extreme(value, sample))
        # The earlier sample first among equals, so that reports do not depend on sorting.
        self.far.sort(key=lambda extreme: (-extreme.value, extreme.sample))
        del self.far[_KEPT:]

    @property
    def most(self) -> Extreme:
        return self.far[0]

    def robust(self) -> float:
        """The furthest extreme of a sample that is no outlier.

        Up to ``_KEPT`` outliers are told apart exactly; beyond, the bound itself is the limit.
        """
        bound = OUTLIER_FACTOR * self.usual()
        if bound <= 0.0 or self.most.value <= bound:
            return self.most.value
        inside = [extreme.value for extreme in self.far if extreme.value <= bound]
        return inside[0] if inside else bound

    def usual(self) -> float:
        """What 95 % of the samples stay below; with few samples all but the furthest one."""
        samples = self.histogram.total
        if samples < 3:
            return self.most.value
        return self.histogram.quantile(min(_USUAL, (samples - 1) / samples))

    def outliers(self) -> tuple[Extreme, ...]:
        """The furthest samples that are outliers, at most ``_KEPT``."""
        bound = OUTLIER_FACTOR * self.usual()
        return tuple(extreme for extreme in self.far if bound > 0.0 and extreme.value > bound)


class Observer:
    """The distribution of a tensor over the samples."""

    __slots__ = ("above", "below", "histogram", "samples")

    def __init__(self) -> None:
        self.histogram = Histogram()
        self.above = Side()
        self.below = Side()
        self.samples = 0

    def add(self, numbers: Array, sample: int) -> None:
        """Count the tensor's numbers in sample number ``sample``; they must be finite."""
        self.histogram.add(numbers)
        self.above.add(float(numbers.max()), sample)
        self.below.add(-float(numbers.min()), sample)
        self.samples += 1

    @property
    def low(self) -> float:
        return -self.below.most.value

    @property
    def high(self) -> float:
        return self.above.most.value

    def outliers(self) -> tuple[Extreme, ...]:
        """Samples whose extremes are outliers, the furthest first; values have their sign."""
        below = (Extreme(-extreme.value, extreme.sample) for extreme in self.below.outliers())
        found = [*self.above.outliers(), *below]
        return tuple(sorted(found, key=lambda extreme: (-abs(extreme.value), extreme.sample)))
