"""Sums of products in float64, of any kind of numbers: data and weights in, sums per output element out.

Zero points are subtracted before, so padding counts as zeros; integers stay exact below 2**53.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tinydeploy.ir import Array
from tinydeploy.ops.base import AnySite
from tinydeploy.ops.convolution import windows
from tinydeploy.ops.window import padded, tap

SumsOf = Callable[[AnySite, Array, Array], Array]
"""From data and weights in float64 to the sums of their products."""


def conv_sums(site: AnySite, data: Array, weights: Array) -> Array:
    """Conv2D or GroupedConv2D; weights [C_out, K_h, K_w, C_in / groups]."""
    vertical, horizontal = windows(site)
    rows, columns = site.attrs.padding
    image = padded(data, rows, columns, 0)
    batch, height, width, channels = site.outputs[0].shape
    depth = weights.shape[3]
    groups = image.shape[3] // depth
    each = channels // groups
    total = np.zeros((batch, height, width, channels), np.float64)
    for row in range(vertical.size):
        for column in range(horizontal.size):
            pixels = tap(image, vertical, horizontal, row, column, (height, width))
            for group in range(groups):
                part = slice(group * each, (group + 1) * each)
                met = pixels[..., group * depth : (group + 1) * depth]
                total[..., part] += met @ weights[part, row, column].T
    return total


def depthwise_sums(site: AnySite, data: Array, weights: Array) -> Array:
    """DepthwiseConv2D; weights [1, K_h, K_w, C_in * multiplier]."""
    vertical, horizontal = windows(site)
    rows, columns = site.attrs.padding
    image = padded(data, rows, columns, 0)
    image = np.repeat(image, weights.shape[3] // image.shape[3], axis=3)
    shape = site.outputs[0].shape
    total = np.zeros(shape, np.float64)
    for row in range(vertical.size):
        for column in range(horizontal.size):
            pixels = tap(image, vertical, horizontal, row, column, (shape[1], shape[2]))
            total += pixels * weights[0, row, column]
    return total


def dense_sums(_site: AnySite, data: Array, weights: Array) -> Array:
    """FullyConnected; weights [N, K]. The result is [M, N]."""
    total: Array = data.reshape(-1, weights.shape[1]) @ weights.T
    return total


def transpose_conv_sums(site: AnySite, data: Array, weights: Array) -> Array:
    """TransposeConv over any number of dimensions; weights [C_out, K..., C_in / groups]."""
    attrs = site.attrs
    channels, *taps, depth = weights.shape
    lengths = data.shape[1:-1]
    extents = [
        max((length - 1) * stride + (size - 1) * dilation + 1, before + out)
        for length, stride, size, dilation, before, out in zip(
            lengths, attrs.stride, taps, attrs.dilation, attrs.before, attrs.size, strict=True
        )
    ]
    total = np.zeros((data.shape[0], *extents, channels), np.float64)
    each = channels // attrs.groups
    for place in np.ndindex(*taps):
        met = total[
            (
                slice(None),
                *(
                    slice(at * dilation, at * dilation + (length - 1) * stride + 1, stride)
                    for at, length, stride, dilation in zip(
                        place, lengths, attrs.stride, attrs.dilation, strict=True
                    )
                ),
            )
        ]
        for group in range(attrs.groups):
            part = slice(group * each, (group + 1) * each)
            part_data = data[..., group * depth : (group + 1) * depth]
            met[..., part] += part_data @ weights[part][(slice(None), *place)].T
    cut = (slice(before, before + out) for before, out in zip(attrs.before, attrs.size, strict=True))
    return total[(slice(None), *cut)]
