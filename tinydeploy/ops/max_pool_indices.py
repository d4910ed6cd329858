"""MaxPoolIndices: the largest element of each window, and where it was."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import Operator, Site, no_macs, operand
from tinydeploy.ops.convolution import plain_image_constraints
from tinydeploy.ops.float_pools import around, lowest, one_type
from tinydeploy.ops.pooling import pool_infer, window_constraint, windows
from tinydeploy.ops.quantized import Activation
from tinydeploy.ops.window import Pair, tap


@dataclass(frozen=True, slots=True)
class MaxPoolIndices(Attrs):
    """Windows as in MaxPool2D. Indices are int64 and count the elements of the data as [N, C, H, W] lays them
    out, as ONNX does, or as [N, C, W, H] with ``columns_first``; the first of equal elements wins.
    """

    size: Pair
    stride: Pair
    padding: tuple[Pair, Pair] = ((0, 0), (0, 0))
    dilation: Pair = (1, 1)
    beyond: Pair = (0, 0)
    columns_first: bool = False
    activation: Activation = Activation.NONE


def places(site: Site[MaxPoolIndices]) -> tuple[int, int, int, int]:
    """What the index grows by along N, H, W and C."""
    _, height, width, channels = site.input(0).shape
    row, column = (1, height) if site.attrs.columns_first else (width, 1)
    return channels * height * width, row, column, height * width


def _infer(site: Site[MaxPoolIndices]) -> tuple[TensorType, ...]:
    (values,) = pool_infer(site)
    return values, TensorType(DType.INT64, values.shape)


def _reference(site: Site[MaxPoolIndices], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    data = operand(arrays, 0)
    vertical, horizontal = windows(site.attrs)
    shape, bottom = site.outputs[0].shape, lowest(site.input(0).dtype)
    grid = np.indices(data.shape).reshape(4, *data.shape)
    index = sum(axis * step for axis, step in zip(grid, places(site), strict=True))
    image, where = around(site, data, bottom), around(site, np.asarray(index), -1)
    best = np.full(shape, bottom, data.dtype)
    at = np.full(shape, -1, np.int64)
    for row in range(vertical.size):
        for column in range(horizontal.size):
            values, indices = (
                tap(array, vertical, horizontal, row, column, (shape[1], shape[2]))
                for array in (image, where)
            )
            better = (indices >= 0) & ((at < 0) | (values > best))
            best, at = np.where(better, values, best), np.where(better, indices, at)
    return best, at


OP = Operator(
    attrs=MaxPoolIndices,
    roles=("data",),
    doc="largest element of a window and its index",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(*plain_image_constraints(), one_type(), window_constraint()),
)
