"""Geometry of sliding windows, shared by convolution and pooling."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Window:
    """A window along one axis; ``before`` and ``after`` are the padding in elements."""

    size: int
    stride: int
    dilation: int
    before: int
    after: int

    @property
    def extent(self) -> int:
        """Elements from the first to the last tap, both included."""
        return (self.size - 1) * self.dilation + 1

    def outputs(self, length: int) -> int:
        """How many positions fit on an axis of ``length`` elements; below 1 where none does."""
        return (length + self.before + self.after - self.extent) // self.stride + 1

    def start(self, output: int) -> int:
        """First tap of an output position; negative inside the padding."""
        return output * self.stride - self.before


def same_padding(length: int, size: int, stride: int, dilation: int) -> Pair:
    """TensorFlow's SAME: (before, after), the odd element after."""
    extent = (size - 1) * dilation + 1
    outputs = -(-length // stride)
    total = max((outputs - 1) * stride + extent - length, 0)
    return total // 2, total - total // 2


def padded(image: Array, rows: Pair, columns: Pair, value: float) -> Array:
    """An NHWC image with a border of ``value``."""
    return np.pad(image, ((0, 0), rows, columns, (0, 0)), constant_values=value)


def tap(image: Array, vertical: Window, horizontal: Window, row: int, column: int, out: Pair) -> Array:
    """The elements of a padded NHWC image that window tap (row, column) meets: [N, H_out, W_out, C]."""
    top, left = row * vertical.dilation, column * horizontal.dilation
    return image[
        :,
        top : top + (out[0] - 1) * vertical.stride + 1 : vertical.stride,
        left : left + (out[1] - 1) * horizontal.stride + 1 : horizontal.stride,
        :,
    ]
