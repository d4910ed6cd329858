"""Twins: models of the same layers with other content, to show that figures come from shapes alone.

A twin has random dense weights, renamed tensors and layers, and the channels of every layer shuffled: scales,
zero points and biases change places together. Since the weights are random, shuffling a layer's outputs needs
no counterpart in its readers.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tinydeploy.ir import Array, DType, Graph, Quant, TensorType, Value
from tinydeploy.ir.blobs import blob_of, digest_of

_BIAS = 2


def twin_of(graph: Graph, seed: int) -> Graph:
    """A twin of a graph with int8 weights as a front end makes it; the same for the same seed."""
    generator = np.random.default_rng(seed)
    values = [replace(value, name=f"value {seed}.{index}") for index, value in enumerate(graph.values)]
    blobs: dict[str, bytes] = {}

    def put(index: int, type_: TensorType, array: Array) -> None:
        blob = blob_of(np.ascontiguousarray(array))
        digest = digest_of(blob)
        blobs[digest] = blob
        values[index] = Value(values[index].name, type_, digest)

    for node in graph.nodes:
        weights = node.inputs[1] if len(node.inputs) > 1 else None
        if weights is None or not graph.values[weights].is_constant:
            continue
        type_ = graph.type(weights)
        if type_.dtype is not DType.INT8:
            continue
        order = generator.permutation(_channels(type_))
        put(weights, _shuffled(type_, order), _dense(type_, generator))
        bias = node.inputs[_BIAS] if len(node.inputs) > _BIAS else None
        if bias is not None:
            array = graph.array(bias)
            put(
                bias,
                _shuffled(graph.type(bias), order),
                array[order] if len(order) == array.shape[0] else array,
            )
    nodes = tuple(replace(node, name=f"layer {seed}.{index}") for index, node in enumerate(graph.nodes))
    return replace(graph, name="twin", values=tuple(values), nodes=nodes, blobs=graph.blobs.with_blobs(blobs))


def _channels(type_: TensorType) -> int:
    return len(type_.quant.scales) if type_.quant is not None else 1


def _shuffled(type_: TensorType, order: Array) -> TensorType:
    quant = type_.quant
    if quant is None or len(quant.scales) != len(order):
        return type_
    scales = tuple(quant.scales[index] for index in order)
    zero_points = tuple(quant.zero_points[index] for index in order)
    return replace(type_, quant=Quant(scales, zero_points, quant.axis))


def _dense(type_: TensorType, generator: np.random.Generator) -> Array:
    """Weights of either sign, none of them 0."""
    magnitudes = generator.integers(1, 128, type_.shape, np.int8)
    return np.where(generator.integers(0, 2, type_.shape) == 0, magnitudes, -magnitudes).astype(np.int8)
