"""Cross-layer equalization: channels of neighbouring layers scaled against each other, with the same result.

For a clamp that only cuts at zero, ``f(s x) = s f(x)``: a channel's weights may be divided by s in one layer
and multiplied by s in the next (Nagel 2019). Ranges of the weights then differ less between channels.
"""

from __future__ import annotations

import math

import numpy as np

from tinydeploy.ir import Graph, Rewriter
from tinydeploy.ops.quantized import Activation
from tinydeploy.quantize.histogram import Floats
from tinydeploy.quantize.rules import Kind, rule_of
from tinydeploy.quantize.weights import layer_of

_ROUNDS = 10
_THROUGH = frozenset({"MaxPool2D", "AveragePool2D", "Mean"})
_INPUT_AXES = {"Conv2D": 3, "DepthwiseConv2D": 3, "FullyConnected": 1}

Pair = tuple[int, int]


def pairs_of(graph: Graph) -> tuple[Pair, ...]:
    """Neighbouring layers, as indices of nodes, whose channels can be scaled against each other."""
    producers, consumers = graph.producers(), graph.consumers()
    found: list[Pair] = []
    for index, node in enumerate(graph.nodes):
        if node.op not in _INPUT_AXES or rule_of(graph, node).kind is not Kind.DOT:
            continue
        value = node.inputs[0]
        while value is not None and value in producers and value not in graph.outputs:
            first = producers[value]
            maker = graph.nodes[first]
            alone = len(consumers[value]) == 1
            if (
                alone
                and maker.op in _THROUGH
                and getattr(maker.attrs, "activation", None)
                in (
                    None,
                    Activation.NONE,
                )
            ):
                value = maker.inputs[0]
                continue
            if alone and _scales(graph, first, index):
                found.append((first, index))
            break
    return tuple(found)


def _scales(graph: Graph, first: int, second: int) -> bool:
    maker, reader = graph.nodes[first], graph.nodes[second]
    if maker.op not in _INPUT_AXES or rule_of(graph, maker).kind is not Kind.DOT:
        return False
    if maker.attrs.activation not in (Activation.NONE, Activation.RELU):  # type: ignore[attr-defined]
        return False
    channels = layer_of(graph, first).channels
    return bool(layer_of(graph, second).weights.shape[_INPUT_AXES[reader.op]] == channels)


def equalize(graph: Graph) -> Graph:
    """The graph with the weights of neighbouring layers equalized; it computes the same numbers."""
    pairs = pairs_of(graph)
    if not pairs:
        return graph
    layers = {index: layer_of(graph, index) for pair in pairs for index in pair}
    weights = {index: layer.weights.copy() for index, layer in layers.items()}
    biases = {index: None if layer.bias is None else layer.bias.copy() for index, layer in layers.items()}
    for _ in range(_ROUNDS):
        for first, second in pairs:
            after = _INPUT_AXES[graph.nodes[second].op]
            scale = _balance(_peaks(weights[first], layers[first].axis), _peaks(weights[second], after))
            weights[first] /= _along(scale, layers[first].axis, weights[first].ndim)
            weights[second] *= _along(scale, after, weights[second].ndim)
            bias = biases[first]
            if bias is not None:
                bias /= scale
    return with_constants(graph, weights, biases)


def _balance(first: Floats, second: Floats) -> Floats:
    """Per channel ``sqrt(r1 / r2)``, 1 where either is zero, between 2**-6 and 2**6."""
    usable = (first > 0) & (second > 0)
    ratio = np.divide(first, second, out=np.ones_like(first), where=usable)
    return np.asarray(np.clip(np.sqrt(ratio), math.ldexp(1, -6), math.ldexp(1, 6)))


def _peaks(weights: Floats, axis: int) -> Floats:
    return np.asarray(np.abs(weights).max(axis=tuple(i for i in range(weights.ndim) if i != axis)))


def _along(scale: Floats, axis: int, rank: int) -> Floats:
    return scale.reshape([-1 if index == axis else 1 for index in range(rank)])


def with_constants(graph: Graph, weights: dict[int, Floats], biases: dict[int, Floats | None]) -> Graph:
    """The graph with other weights and biases at the given nodes; a layer without bias keeps none."""
    rewriter = Rewriter(graph)
    for index, array in weights.items():
        node = graph.nodes[index]
        inputs = list(node.inputs)
        for place, numbers in ((1, array), (2, biases.get(index))):
            old = inputs[place] if place < len(inputs) else None
            if old is None or numbers is None:
                continue
            source = graph.values[old]
            new = numbers.astype(np.float32).reshape(source.type.shape)
            inputs[place] = rewriter.constant(source.name, source.type, new)
        rewriter.replace_node(index, type(node)(node.name, node.attrs, tuple(inputs), node.outputs))
    return rewriter.freeze()
