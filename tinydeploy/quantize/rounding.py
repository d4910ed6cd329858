"""How weights become steps: the nearest one, or the one that keeps a layer's output closest.

Adaptive rounding walks over a layer's inputs in order; the error that a step makes is spread over the weights
that are still to be rounded, as the inputs' second moments tell (optimal brain surgeon; GPTQ, Frantar 2022).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.quantize.histogram import Floats
from tinydeploy.quantize.moments import Moments

_DAMPING = 0.01


@dataclass(frozen=True, slots=True)
class Grid:
    """What a weight may become: ``unit`` (per channel and input) times a whole number up to ``most``."""

    unit: Floats
    most: int

    def nearest(self, weights: Floats) -> Floats:
        """Whole numbers, ties to even."""
        return np.asarray(np.clip(np.rint(weights / self.unit), -self.most, self.most))


def adaptive(weights: Floats, grid: Grid, moments: Moments) -> Floats:
    """Whole numbers for ``weights`` [channels, K] that keep the layer's output for the seen inputs."""
    channels = len(weights)
    groups = len(moments.second)
    each = channels // groups
    result = np.empty_like(weights)
    for group in range(groups):
        part = slice(group * each, (group + 1) * each)
        result[part] = _group(weights[part], Grid(grid.unit[part], grid.most), moments.second[group])
    return result


def _group(weights: Floats, grid: Grid, second: Floats) -> Floats:
    upper = _spread(second)
    if upper is None:
        return grid.nearest(weights)
    rest = weights.copy()
    whole = np.zeros_like(weights)
    for column in range(weights.shape[1]):
        single = Grid(grid.unit[:, column], grid.most)
        whole[:, column] = single.nearest(rest[:, column])
        error = (rest[:, column] - whole[:, column] * single.unit) / upper[column, column]
        rest[:, column + 1 :] -= np.outer(error, upper[column, column + 1 :])
    return whole


def _spread(second: Floats) -> Floats | None:
    """The upper Cholesky factor of the damped moments' inverse; None where it does not exist."""
    size = len(second)
    mean = float(np.trace(second)) / size
    if not mean > 0.0:
        return None
    damped = second + np.eye(size) * mean * _DAMPING
    try:
        inverse = np.linalg.inv(damped)
        return np.asarray(np.linalg.cholesky((inverse + inverse.T) / 2).T)
    except np.linalg.LinAlgError:
        return None


def corrected_bias(bias: Floats | None, weights: Floats, rounded: Floats, moments: Moments) -> Floats:
    """The bias that restores each channel's mean output after ``weights`` [channels, K] got ``rounded``."""
    each = len(weights) // len(moments.mean)
    mean = np.repeat(moments.mean, each, axis=0)
    shift = ((weights - rounded) * mean).sum(axis=1)
    return np.asarray(shift if bias is None else bias + shift)
