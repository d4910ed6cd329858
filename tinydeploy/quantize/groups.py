"""Weights of 4 bits with a factor per group: ``scale[c] * factor[c, g] * w``, factor 1 to 16, w -7 to 7.

``factor * w`` is a whole number up to 112, so that a layer with such weights is an ordinary int8 layer to
every runtime, its sums stay integers, and the kernels that know the grid store half a byte per weight.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from tinydeploy.ir import Quant
from tinydeploy.quantize.histogram import Floats
from tinydeploy.quantize.moments import Moments
from tinydeploy.quantize.rounding import Grid, adaptive
from tinydeploy.quantize.weights import Integers, Layer, with_bias

PACKED = ("Conv2D", "DepthwiseConv2D", "FullyConnected")
"""Operators whose kernels store such weights."""

GROUP = 32
"""Neighbouring inputs of a channel that share a factor."""

MOST = 7
FACTORS = 16
_SHRINKS = np.linspace(1.0, 0.6, 9)


def narrowable(layers: Mapping[int, Layer]) -> frozenset[int]:
    """The layers that gain from 4-bit weights."""
    return frozenset(index for index, layer in layers.items() if layer.op in PACKED)


def int4_weights(layer: Layer, data: Quant, moments: Moments | None) -> Integers:
    """The layer with 4-bit weights; with ``moments`` they are rounded so that its output stays close."""
    matrix = layer.matrix
    importance = _importance(matrix, moments)
    factors, scales = _factors(matrix, importance, layer, data)
    each = np.repeat(factors, GROUP, axis=1)[:, : matrix.shape[1]]
    grid = Grid(each * scales[:, None], MOST)
    whole = grid.nearest(matrix) if moments is None else adaptive(matrix, grid, moments)
    steps = layer.shaped((whole * each).astype(np.int8))
    quant = Quant(tuple(map(float, scales)), (0,) * len(scales), layer.axis)
    return with_bias(layer, data, steps, quant, bits=4, group=GROUP)


def _importance(matrix: Floats, moments: Moments | None) -> Floats:
    """How much an error of each weight counts: its input's mean square."""
    if moments is None:
        return np.ones_like(matrix)
    squares = np.diagonal(moments.second, axis1=1, axis2=2) + 1e-12
    return np.asarray(np.repeat(squares, len(matrix) // len(squares), axis=0))


def _factors(matrix: Floats, importance: Floats, layer: Layer, data: Quant) -> tuple[Floats, Floats]:
    """(factors [channels, groups], scales [channels]): the group scales of least error, on the grid of 16."""
    channels, inputs = matrix.shape
    count = -(-inputs // GROUP)
    padding = ((0, 0), (0, count * GROUP - inputs))
    grouped = np.pad(matrix, padding).reshape(channels, count, GROUP)
    weight = np.pad(importance, padding).reshape(channels, count, GROUP)
    peaks = np.abs(grouped).max(axis=2)
    wanted = _best(grouped, weight, peaks / MOST)
    largest = wanted.max(axis=1)
    if layer.bias is not None:
        largest = np.maximum(largest, FACTORS * np.abs(layer.bias) / (data.scale * (1 << 28)))
    scales = np.where(largest > 0, largest / FACTORS, 1.0).astype(np.float32).astype(np.float64)
    factors = np.clip(np.rint(wanted / scales[:, None]), 1, FACTORS)
    return np.asarray(factors), scales


def _best(grouped: Floats, weight: Floats, full: Floats) -> Floats:
    """The scale of each group with the least weighted squared error."""
    best = full.copy()
    least = np.full(full.shape, np.inf)
    for shrink in _SHRINKS:
        scale = np.where(full > 0, full * shrink, 1.0)[:, :, None]
        rounded = np.clip(np.rint(grouped / scale), -MOST, MOST) * scale
        error = (weight * (grouped - rounded) ** 2).sum(axis=2)
        better = error < least
        best = np.where(better, full * shrink, best)
        least = np.minimum(least, error)
    return best
