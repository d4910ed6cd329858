"""Factors and offsets per channel right behind a layer, such as those of batch norm, into its weights."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tinydeploy.ir import Array, DType, Graph, Rewriter, TensorType
from tinydeploy.ops.add import Add
from tinydeploy.ops.conv_2d import Conv2D
from tinydeploy.ops.depthwise_conv_2d import DepthwiseConv2D
from tinydeploy.ops.fully_connected import FullyConnected
from tinydeploy.ops.grouped_conv_2d import GroupedConv2D
from tinydeploy.ops.mul import Mul
from tinydeploy.ops.quantized import Activation
from tinydeploy.ops.sub import Sub
from tinydeploy.ops.transpose_conv import TransposeConv

Floats = npt.NDArray[np.float64]
Layer = Conv2D | DepthwiseConv2D | FullyConnected | GroupedConv2D | TransposeConv


@dataclass(frozen=True, slots=True)
class _Affine:
    """``result = factor * layer + offset``, one number per channel; ``node`` computes it behind ``layer``."""

    node: int
    layer: int
    factor: Floats
    offset: Floats
    activation: Activation


def fold_batch_norm(graph: Graph) -> Graph:
    """The graph without multiplications and additions of constants per channel right behind float layers."""
    while (found := _first(graph)) is not None:
        graph = _folded(graph, found)
    return graph


def _first(graph: Graph) -> _Affine | None:
    producers, consumers = graph.producers(), graph.consumers()
    for index, node in enumerate(graph.nodes):
        if not isinstance(node.attrs, Add | Mul | Sub) or len(node.inputs) != 2:
            continue
        for place in (0, 1):
            value, other = node.inputs[place], node.inputs[1 - place]
            if value is None or other is None or value not in producers or value in graph.outputs:
                continue
            if (isinstance(node.attrs, Sub) and place == 1) or not graph.type(value).shape:
                continue
            constant = _per_channel(graph, other, graph.type(value).shape[-1])
            same = graph.type(value).shape == graph.type(node.outputs[0]).shape
            alone = consumers[value] == (index,)
            if constant is None or not same or not alone or not _takes(graph, producers[value]):
                continue
            one, zero = np.ones_like(constant), np.zeros_like(constant)
            factor, offset = (constant, zero) if isinstance(node.attrs, Mul) else (one, constant)
            sign = -1.0 if isinstance(node.attrs, Sub) else 1.0
            return _Affine(index, producers[value], factor, sign * offset, node.attrs.activation)
    return None


def _per_channel(graph: Graph, value: int, channels: int) -> Floats | None:
    """A float constant as one number per channel of the last axis, where it is no more than that."""
    type_ = graph.type(value)
    if not graph.values[value].is_constant or type_.dtype is not DType.FLOAT32:
        return None
    if type_.elements != 1 and (type_.elements != channels or type_.shape[-1] != channels):
        return None
    array: Array = graph.array(value).astype(np.float64).reshape(-1)
    return np.ascontiguousarray(np.broadcast_to(array, (channels,)))


def _takes(graph: Graph, index: int) -> bool:
    """Whether a node is a float layer of constant weights without a clamp."""
    node = graph.nodes[index]
    if not isinstance(node.attrs, Layer) or node.attrs.activation is not Activation.NONE:
        return False
    return all(
        value is None or (graph.values[value].is_constant and graph.type(value).dtype is DType.FLOAT32)
        for value in node.inputs[1:]
    )


def _folded(graph: Graph, found: _Affine) -> Graph:
    layer, last = graph.nodes[found.layer], graph.nodes[found.node]
    weights = layer.inputs[1]
    if weights is None:
        raise ValueError(f"{layer.name}: no weights")
    bias = layer.inputs[2] if len(layer.inputs) > 2 else None
    axis = 3 if isinstance(layer.attrs, DepthwiseConv2D) else 0
    old = graph.array(weights).astype(np.float64)
    factor = found.factor.reshape([-1 if i == axis else 1 for i in range(old.ndim)])
    start = np.zeros_like(found.offset) if bias is None else graph.array(bias).astype(np.float64).reshape(-1)
    total = start * found.factor + found.offset
    edit = Rewriter(graph)
    name = f"{layer.name}/bias" if bias is None else graph.values[bias].name
    new = (
        edit.constant(graph.values[weights].name, graph.type(weights), (old * factor).astype(np.float32)),
        edit.constant(name, TensorType(DType.FLOAT32, total.shape), total.astype(np.float32)),
    )
    attrs = replace(layer.attrs, activation=found.activation)  # type: ignore[type-var]
    made = replace(layer, attrs=attrs, inputs=(layer.inputs[0], *new), outputs=last.outputs)
    edit.remove_node(found.node)
    edit.replace_node(found.layer, made)
    return edit.freeze()
