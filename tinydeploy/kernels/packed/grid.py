"""Int8 weights that are a small factor times a number of 4 bits, group by group: stored so, without loss.

The quantizer makes them (``--weights int4``); to the graph they are int8 like any others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array
from tinydeploy.kernels.base import Constant, CType, Kind, constant
from tinydeploy.ops import AnySite

GROUP = 32
"""Neighbouring weights of a channel that share a factor; an even number."""

FACTORS = 16
MOST = 7
_FEWEST = 64
"""Below so many weights packing saves little, and small numbers may lie on the grid by chance."""


@dataclass(frozen=True, slots=True)
class Grid:
    """Weights [channels, inputs] as ``factors[c, k / GROUP] * numbers[c, k]``."""

    numbers: Array
    factors: Array

    def constants(self) -> tuple[Constant, Constant]:
        """Weights, each channel from a whole byte on, and factors less one, two to a byte each."""
        padding = ((0, 0), (0, self.numbers.shape[1] % 2))
        weights = _halves(np.pad(self.numbers, padding))
        factors = _halves(self.factors - 1)
        return (
            constant("weights", CType.INT8, Kind.WEIGHTS, weights),
            constant("factors", CType.INT8, Kind.WEIGHTS, factors),
        )


def _halves(numbers: Array) -> Array:
    """The low 4 bits of numbers, two to a byte, the first in the low half."""
    flat = numbers.reshape(-1).astype(np.int64)
    low = np.append(flat, np.zeros(flat.size % 2, np.int64)) & 15
    return ((low[::2] | low[1::2] << 4) ^ 128) - 128


def channels_first(weights: Array, axis: int) -> Array:
    """Weights as [channels, everything else in its order]."""
    return np.moveaxis(weights, axis, 0).reshape(weights.shape[axis], -1)


def grid_of(weights: Array, axis: int) -> Grid | None:
    """The weights on the grid, channels along ``axis``.

    None where they do not lie on it, are few, or fit into 4 bits as they are.
    """
    if weights.size < _FEWEST:
        return None
    most = int(np.abs(weights.astype(np.int16)).max())
    if not MOST < most <= MOST * FACTORS:
        return None
    matrix = channels_first(weights, axis).astype(np.int16)
    channels, inputs = matrix.shape
    groups = -(-inputs // GROUP)
    grouped = np.pad(matrix, ((0, 0), (0, groups * GROUP - inputs))).reshape(channels, groups, GROUP)
    factors = np.zeros((channels, groups), np.int16)
    for factor in range(FACTORS, 0, -1):
        fits = ((grouped % factor == 0) & (np.abs(grouped) <= MOST * factor)).all(axis=2)
        factors[fits] = factor
    if not factors.all():
        return None
    numbers = (grouped // factors[:, :, None]).reshape(channels, -1)[:, :inputs]
    return Grid(numbers, factors)


def site_grid(site: AnySite, axis: int) -> Grid | None:
    """The grid of a node's weights."""
    weights = site.constant(1)
    return None if weights is None else grid_of(weights, axis)


def on_grid(site: AnySite) -> bool:
    """Whether a packed schedule computes a node."""
    axis = _AXES.get(type(site.attrs).__name__)
    return axis is not None and site_grid(site, axis) is not None


_AXES = {"Conv2D": 0, "DepthwiseConv2D": 3, "FullyConnected": 0}
