"""A float graph as the quantizer wants it: clamps fused into the operators before them, means as means."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from tinydeploy.errors import TinyDeployError
from tinydeploy.ir import DType, Graph, Node, Rewriter, TensorType
from tinydeploy.ops.average_pool_2d import AveragePool2D
from tinydeploy.ops.mean import Mean
from tinydeploy.ops.quantized import Activation
from tinydeploy.ops.relu import Relu
from tinydeploy.passes import remove_unused
from tinydeploy.quantize.rules import WEIGHT_AXES
from tinydeploy.quantize.scales import real_of


def check_float(graph: Graph, where: str) -> None:
    """Raise TinyDeployError where a graph is quantized already or cannot be: it computes in no float32."""
    quantized = [value.name for value in graph.values if value.type.quant is not None]
    if quantized:
        raise TinyDeployError(
            f"the model is quantized already: {quantized[0]!r} has a scale",
            where=where,
            fix="Give the float model; a quantized one can be compiled as it is",
        )
    if all(graph.type(value).dtype is not DType.FLOAT32 for value in graph.outputs):
        raise TinyDeployError("the model has no float32 output, there is nothing to quantize", where=where)


def dequantize_weights(graph: Graph) -> Graph:
    """The graph of a dynamic-range model, whose weights alone are integers, with real weights."""
    rewriter = Rewriter(graph)
    changed = False
    for index, node in enumerate(graph.nodes):
        if node.op not in WEIGHT_AXES or graph.type(node.outputs[0]).dtype is not DType.FLOAT32:
            continue
        weights = node.inputs[1]
        if weights is None or not graph.values[weights].is_constant:
            continue
        value = graph.values[weights]
        if value.type.quant is None:
            continue
        real = real_of(graph.array(weights), value.type.quant).astype(np.float32)
        made = rewriter.constant(value.name, TensorType(DType.FLOAT32, real.shape), real)
        rewriter.replace_node(index, replace(node, inputs=(node.inputs[0], made, *node.inputs[2:])))
        changed = True
    return rewriter.freeze() if changed else graph


def fuse_clamps(graph: Graph) -> Graph:
    """The graph with ReLU-like clamps fused into the operators before them, where nothing else reads between.

    A clamped result needs no scale for what the clamp drops.
    """
    while True:
        fused = _fuse_one(graph)
        if fused is None:
            return remove_unused(graph)
        graph = fused


def _fuse_one(graph: Graph) -> Graph | None:
    producers, consumers = graph.producers(), graph.consumers()
    for index, node in enumerate(graph.nodes):
        clamp = _clamp_of(node)
        source = node.inputs[0] if node.inputs else None
        if clamp is None or source is None or source not in producers or source in graph.outputs:
            continue
        maker = graph.nodes[producers[source]]
        takes = getattr(maker.attrs, "activation", None) is Activation.NONE and not isinstance(
            maker.attrs, Relu
        )
        if not takes or consumers[source] != (index,) or graph.type(source).dtype is not DType.FLOAT32:
            continue
        rewriter = Rewriter(graph)
        attrs = replace(maker.attrs, activation=clamp)  # type: ignore[type-var]
        rewriter.remove_node(index)
        rewriter.replace_node(producers[source], Node(maker.name, attrs, maker.inputs, node.outputs))
        return rewriter.freeze()
    return None


def _clamp_of(node: Node) -> Activation | None:
    """The fusable clamp that a node is."""
    if isinstance(node.attrs, Relu):
        return node.attrs.activation
    if node.op == "Clip" and len([value for value in node.inputs if value is not None]) == 1:
        bounds = (getattr(node.attrs, "low", None), getattr(node.attrs, "high", None))
        for activation in Activation:
            low, high = activation.bounds
            if activation is not Activation.NONE and bounds == (_bound(low), _bound(high)):
                return activation
            if activation is not Activation.NONE and bounds == (low, high):
                return activation
    return None


def _bound(value: float) -> float | None:
    return value if math.isfinite(value) else None


def pools_to_means(graph: Graph) -> Graph:
    """The graph with averages over whole images as Mean, whose result has a scale of its own."""
    rewriter = Rewriter(graph)
    changed = False
    for index, node in enumerate(graph.nodes):
        attrs = node.attrs
        if not isinstance(attrs, AveragePool2D) or node.inputs[0] is None:
            continue
        shape = graph.type(node.inputs[0]).shape
        whole = attrs.size == shape[1:3] and attrs.padding == ((0, 0), (0, 0))
        if whole and attrs.activation is Activation.NONE:
            rewriter.replace_node(
                index, Node(node.name, Mean(axes=(1, 2), keep_dims=True), node.inputs, node.outputs)
            )
            changed = True
    return rewriter.freeze() if changed else graph


@dataclass(frozen=True, slots=True)
class Rebuild:
    """A graph being copied node by node, so that new nodes can stand between old ones."""

    rewriter: Rewriter
    value: dict[int, int]

    @classmethod
    def of(cls, graph: Graph) -> Rebuild:
        return cls(Rewriter.empty(graph.name), {})

    def constant(self, graph: Graph, value: int) -> int:
        """Copy a constant, once."""
        if value not in self.value:
            source = graph.values[value]
            self.value[value] = self.rewriter.constant(source.name, source.type, graph.array(value))
        return self.value[value]

    def read(self, graph: Graph, value: int | None) -> int | None:
        """The copy of an operand."""
        if value is None:
            return None
        return self.constant(graph, value) if graph.values[value].is_constant else self.value[value]

    def node(self, graph: Graph, node: Node, inputs: tuple[int | None, ...]) -> tuple[int, ...]:
        """Copy a node with other inputs; the result is its outputs' ids."""
        outputs = tuple((graph.values[value].name, graph.type(value)) for value in node.outputs)
        made = self.rewriter.node(node.name, node.attrs, inputs, outputs)
        self.value.update(zip(node.outputs, made, strict=True))
        return made
