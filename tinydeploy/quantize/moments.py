"""First and second moments of what a layer's weights multiply: sums over the samples, memory is constant."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tinydeploy.ir import Array, Graph
from tinydeploy.ops import AnySite, site_of
from tinydeploy.ops.convolution import windows
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.ops.window import padded, tap
from tinydeploy.quantize.calibrate import Tell, silent
from tinydeploy.quantize.histogram import Floats
from tinydeploy.quantize.samples import Samples

MAX_INPUTS = 4096
"""Weights per channel up to which a matrix of second moments is kept."""

_ROWS = 256
"""Positions of an image that are looked at per sample."""

Patches = Callable[[AnySite, Array], Floats]
"""The numbers that meet the weights: [groups, positions, weights per channel]."""


@dataclass(slots=True)
class Moments:
    """Sums over ``count`` positions: ``first`` [groups, K], ``second`` [groups, K, K].

    Group g is what the g-th part of the output channels sees.
    """

    first: Floats
    second: Floats
    count: int = 0

    def add(self, patches: Floats) -> None:
        step = max(1, patches.shape[1] // _ROWS)
        rows = patches[:, ::step]
        self.first += rows.sum(axis=1)
        self.second += rows.transpose(0, 2, 1) @ rows
        self.count += rows.shape[1]

    @property
    def mean(self) -> Floats:
        return np.asarray(self.first / max(self.count, 1))


@dataclass(slots=True)
class _Watched:
    site: AnySite
    value: int
    patches: Patches
    moments: Moments | None = field(default=None)


def moments_of(
    graph: Graph, layers: Sequence[int], samples: Samples, tell: Tell = silent
) -> dict[int, Moments]:
    """Moments of the inputs of the given nodes of a float graph; layers that are too wide are left out."""
    watched: dict[int, _Watched] = {}
    for index in layers:
        node = graph.nodes[index]
        patches, data, site = _PATCHES.get(node.op), node.inputs[0], site_of(graph, index)
        if patches is not None and data is not None and _inputs(site) <= MAX_INPUTS:
            watched[index] = _Watched(site, data, patches)
    interpreter = Interpreter(graph)
    for number, sample in enumerate(samples):
        interpreter.reset()
        arrays = interpreter.run_all(sample)
        for layer in watched.values():
            patches_ = layer.patches(layer.site, arrays[layer.value])
            if layer.moments is None:
                groups, _, inputs = patches_.shape
                layer.moments = Moments(np.zeros((groups, inputs)), np.zeros((groups, inputs, inputs)))
            layer.moments.add(patches_)
        tell("studying layers", number + 1, samples.count)
    return {index: layer.moments for index, layer in watched.items() if layer.moments is not None}


def _inputs(site: AnySite) -> int:
    shape = site.input(1).shape
    axis = 3 if type(site.attrs).__name__ == "DepthwiseConv2D" else 0
    return int(np.prod(shape)) // shape[axis]


def _taps(site: AnySite, data: Array) -> list[Array]:
    vertical, horizontal = windows(site)
    rows, columns = site.attrs.padding
    image = padded(data.astype(np.float64), rows, columns, 0)
    _, height, width, _ = site.outputs[0].shape
    return [
        tap(image, vertical, horizontal, row, column, (height, width)).reshape(-1, data.shape[3])
        for row in range(vertical.size)
        for column in range(horizontal.size)
    ]


def _convolution(site: AnySite, data: Array) -> Floats:
    depth = site.input(1).shape[3]
    groups = data.shape[3] // depth
    taps = np.stack(_taps(site, data), axis=1)
    positions, count, _ = taps.shape
    grouped = taps.reshape(positions, count, groups, depth).transpose(2, 0, 1, 3)
    return np.asarray(grouped.reshape(groups, positions, count * depth))


def _depthwise(site: AnySite, data: Array) -> Floats:
    taps = np.stack(_taps(site, data), axis=1).transpose(2, 0, 1)
    return np.asarray(np.repeat(taps, site.input(1).shape[3] // data.shape[3], axis=0))


def _dense(site: AnySite, data: Array) -> Floats:
    return np.asarray(data.astype(np.float64).reshape(1, -1, site.input(1).shape[1]))


_PATCHES: dict[str, Patches] = {
    "Conv2D": _convolution,
    "DepthwiseConv2D": _depthwise,
    "FullyConnected": _dense,
    "GroupedConv2D": _convolution,
}
