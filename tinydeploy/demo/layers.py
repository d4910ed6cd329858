"""Layers with hand-written gradients: just enough to train the demo network with numpy alone.

Images are [N, H, W, C]; weights have TFLite's layouts. Each layer keeps what its last ``forward`` needs for
``backward``, which takes the loss's gradient at the output, fills ``gradients`` (one array per parameter)
and gives the gradient at the input.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tinydeploy.ops.window import Pair, Window, same_padding, tap

Floats = npt.NDArray[np.float64]


class Layer(Protocol):
    """One step of the network; ``name`` becomes the name of its output in the model file."""

    name: str
    parameters: list[Floats]
    gradients: list[Floats]

    def forward(self, data: Floats) -> Floats: ...
    def backward(self, gradient: Floats) -> Floats: ...


def initial(shape: tuple[int, ...], fan_in: int, random: np.random.Generator) -> Floats:
    """Uniform weights of He's variance, ``2 / fan_in``, so that ReLU layers keep the signal's size."""
    limit = math.sqrt(6.0 / fan_in)
    return np.asarray((2.0 * random.random(shape) - 1.0) * limit, np.float64)


class _Windowed:
    """Patches of an image under TensorFlow's SAME padding, and the way back."""

    def __init__(self, size: int, stride: int, relu: bool) -> None:
        self.size = size
        self.stride = stride
        self.relu = relu

    def padding(self, shape: tuple[int, ...]) -> tuple[Pair, Pair]:
        """((top, bottom), (left, right)) for data of this shape."""
        rows = same_padding(shape[1], self.size, self.stride, 1)
        columns = same_padding(shape[2], self.size, self.stride, 1)
        return rows, columns

    def _gather(self, data: Floats) -> Floats:
        """[N, H_out, W_out, size * size, C] from [N, H, W, C]."""
        windows, extents, image = self._geometry(data)
        taps = [tap(image, *windows, row, column, extents) for row, column in self._taps()]
        return np.stack(taps, axis=3)

    def _scatter(self, patches: Floats, shape: tuple[int, ...]) -> Floats:
        """The sum of patches at the places that ``_gather`` took them from."""
        windows, extents, image = self._geometry(np.zeros(shape))
        for index, (row, column) in enumerate(self._taps()):
            # `tap` is a view of the padded image, so this adds in place.
            view = tap(image, *windows, row, column, extents)
            view += patches[:, :, :, index, :]
        (top, _), (left, _) = self.padding(shape)
        return image[:, top : top + shape[1], left : left + shape[2], :]

    def _taps(self) -> list[Pair]:
        return [(row, column) for row in range(self.size) for column in range(self.size)]

    def _geometry(self, data: Floats) -> tuple[tuple[Window, Window], Pair, Floats]:
        rows, columns = self.padding(data.shape)
        vertical = Window(self.size, self.stride, 1, *rows)
        horizontal = Window(self.size, self.stride, 1, *columns)
        image = np.pad(data, ((0, 0), rows, columns, (0, 0)))
        return (
            (vertical, horizontal),
            (vertical.outputs(data.shape[1]), horizontal.outputs(data.shape[2])),
            image,
        )

    def _activated(self, total: Floats) -> Floats:
        self._positive = total > 0.0
        return np.asarray(np.where(self._positive, total, 0.0)) if self.relu else total

    def _through_activation(self, gradient: Floats) -> Floats:
        return np.asarray(np.where(self._positive, gradient, 0.0)) if self.relu else gradient


class Convolution(_Windowed):
    """SAME convolution, weights [C_out, K, K, C_in], bias [C_out]."""

    def __init__(
        self,
        name: str,
        channels: Pair,
        size: int,
        random: np.random.Generator,
        *,
        stride: int = 1,
        relu: bool = True,
    ) -> None:
        super().__init__(size, stride, relu)
        self.name = name
        inputs, outputs = channels
        weights = initial((outputs, size, size, inputs), size * size * inputs, random)
        self.parameters = [weights, np.zeros(outputs)]
        self.gradients = [np.zeros_like(parameter) for parameter in self.parameters]

    def forward(self, data: Floats) -> Floats:
        weights, bias = self.parameters
        self._shape = data.shape
        patches = self._gather(data)
        self._rows = patches.reshape(-1, weights[0].size)
        total = self._rows @ weights.reshape(len(weights), -1).T + bias
        return self._activated(total.reshape(*patches.shape[:3], -1))

    def backward(self, gradient: Floats) -> Floats:
        weights = self.parameters[0]
        inner = self._through_activation(gradient)
        flat = inner.reshape(-1, len(weights))
        self.gradients = [(flat.T @ self._rows).reshape(weights.shape), flat.sum(axis=0)]
        patches = flat @ weights.reshape(len(weights), -1)
        return self._scatter(patches.reshape(*inner.shape[:3], -1, weights.shape[3]), self._shape)


class Depthwise(_Windowed):
    """SAME convolution of each channel alone, weights [1, K, K, C], bias [C]."""

    def __init__(
        self,
        name: str,
        channels: int,
        size: int,
        random: np.random.Generator,
        *,
        stride: int = 1,
        relu: bool = True,
    ) -> None:
        super().__init__(size, stride, relu)
        self.name = name
        self.parameters = [initial((1, size, size, channels), size * size, random), np.zeros(channels)]
        self.gradients = [np.zeros_like(parameter) for parameter in self.parameters]

    def forward(self, data: Floats) -> Floats:
        weights, bias = self.parameters
        self._shape = data.shape
        self._patches = self._gather(data)
        return self._activated((self._patches * weights.reshape(-1, weights.shape[3])).sum(axis=3) + bias)

    def backward(self, gradient: Floats) -> Floats:
        weights = self.parameters[0]
        inner = self._through_activation(gradient)[:, :, :, None, :]
        self.gradients = [
            (self._patches * inner).sum(axis=(0, 1, 2)).reshape(weights.shape),
            inner.sum(axis=(0, 1, 2, 3)),
        ]
        return self._scatter(inner * weights.reshape(-1, weights.shape[3]), self._shape)


class AveragePool:
    """Mean over windows of ``size`` x ``size`` that tile the image."""

    def __init__(self, name: str, size: int) -> None:
        self.name = name
        self.size = size
        self.parameters: list[Floats] = []
        self.gradients: list[Floats] = []

    def forward(self, data: Floats) -> Floats:
        batch, height, width, channels = data.shape
        size = self.size
        tiles = data.reshape(batch, height // size, size, width // size, size, channels)
        return np.asarray(tiles.sum(axis=(2, 4)) / size**2)

    def backward(self, gradient: Floats) -> Floats:
        return np.repeat(np.repeat(gradient / self.size**2, self.size, axis=1), self.size, axis=2)


class Flatten:
    """[N, H, W, C] to [N, H * W * C]."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.parameters: list[Floats] = []
        self.gradients: list[Floats] = []

    def forward(self, data: Floats) -> Floats:
        self._shape = data.shape
        return data.reshape(len(data), -1)

    def backward(self, gradient: Floats) -> Floats:
        return gradient.reshape(self._shape)


class Dense:
    """Weights [N_out, N_in] times vectors, plus a bias; no activation."""

    def __init__(self, name: str, inputs: int, outputs: int, random: np.random.Generator) -> None:
        self.name = name
        self.parameters = [initial((outputs, inputs), inputs, random), np.zeros(outputs)]
        self.gradients = [np.zeros_like(parameter) for parameter in self.parameters]

    def forward(self, data: Floats) -> Floats:
        self._data = data
        return np.asarray(data @ self.parameters[0].T + self.parameters[1])

    def backward(self, gradient: Floats) -> Floats:
        self.gradients = [gradient.T @ self._data, gradient.sum(axis=0)]
        return np.asarray(gradient @ self.parameters[0])
