"""Weights and biases of one layer as integers: a scale per output channel, biases in that of the sums."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, DType, Graph, Node, Quant
from tinydeploy.quantize.histogram import Floats
from tinydeploy.quantize.rules import WEIGHT_AXES
from tinydeploy.quantize.scales import bias_quant, peaks_of, real_of, steps_of, weight_quant

_BIAS_STEPS = 1 << 28
"""A bias has at most so many steps, which leaves the rest of 32 bits to the sum of products."""


@dataclass(frozen=True, slots=True)
class Layer:
    """A node with constant weights, as real numbers."""

    index: int
    name: str
    op: str
    axis: int
    weights: Floats
    bias: Floats | None

    @property
    def channels(self) -> int:
        return int(self.weights.shape[self.axis])

    @property
    def matrix(self) -> Floats:
        """The weights as [channels, everything else in its order]."""
        return np.moveaxis(self.weights, self.axis, 0).reshape(self.channels, -1)

    def shaped(self, matrix: Array) -> Array:
        """A matrix like ``matrix`` in the weights' own shape."""
        rest = tuple(extent for index, extent in enumerate(self.weights.shape) if index != self.axis)
        return np.ascontiguousarray(np.moveaxis(matrix.reshape(self.channels, *rest), 0, self.axis))


def layer_of(graph: Graph, index: int) -> Layer:
    """The layer that node ``index`` is."""
    node: Node = graph.nodes[index]
    weights = graph.array(_required(node, 1)).astype(np.float64)
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    return Layer(
        index,
        node.name,
        node.op,
        WEIGHT_AXES[node.op],
        weights,
        None if bias is None else graph.array(bias).astype(np.float64).reshape(-1),
    )


def _required(node: Node, index: int) -> int:
    value = node.inputs[index]
    if value is None:
        raise ValueError(f"{node.name}: input {index} is missing")
    return value


@dataclass(frozen=True, slots=True)
class Integers:
    """A layer's constants in steps. ``bits`` is what one weight takes in flash, group factors left out.

    Weights of 4 bits are held as what they mean: a factor of 1 to 16 per group times a number of -7 to 7,
    which is an int8 again. ``group`` is the number of weights that share a factor.
    """

    weights: Array
    quant: Quant
    bias: Array | None
    bias_quant: Quant | None
    bits: int = 8
    group: int = 0

    @property
    def bytes(self) -> int:
        """Flash that the weights take."""
        if self.bits == 8:
            return int(self.weights.size)
        axis = self.quant.axis or 0
        channels = self.weights.shape[axis]
        inputs = self.weights.size // channels
        factors = channels * -(-inputs // self.group)
        return int(channels * ((inputs + 1) // 2) + (factors + 1) // 2)

    def real(self) -> Floats:
        """What the weights mean."""
        return real_of(self.weights, self.quant)


def int8_weights(layer: Layer, data: Quant) -> Integers:
    """Weights as int8, each the nearest step."""
    quant = int8_scales(layer, data)
    return with_bias(layer, data, steps_of(layer.weights, quant, DType.INT8), quant)


def int8_scales(layer: Layer, data: Quant, most: int = 127) -> Quant:
    """Symmetric scales per channel, widened where the bias would not fit into 32 bits."""
    peaks = peaks_of(layer.weights, layer.axis)
    if layer.bias is not None:
        peaks = np.maximum(peaks, most * np.abs(layer.bias) / (data.scale * _BIAS_STEPS))
    return weight_quant(peaks, layer.axis, most)


def with_bias(
    layer: Layer, data: Quant, weights: Array, quant: Quant, bits: int = 8, group: int = 0
) -> Integers:
    """The layer with these weights; the bias becomes int32."""
    if layer.bias is None:
        return Integers(weights, quant, None, None, bits, group)
    of_bias = bias_quant(data, quant)
    return Integers(weights, quant, steps_of(layer.bias, of_bias, DType.INT32), of_bias, bits, group)
