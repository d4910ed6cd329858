"""Dense layers on matrices: data of other ranks goes through views before and after.

ONNX writes a dense layer with a bias and weights per channel as one operator, Gemm, for matrices alone; the
quantizer's files have theirs in this form. In the C the views cost nothing.
"""

from __future__ import annotations

import dataclasses

from tinydeploy.ir import Graph, Node, Rewriter, TensorType
from tinydeploy.ops import site_of
from tinydeploy.ops.fully_connected import FullyConnected, rows_of
from tinydeploy.ops.reshape import Reshape


def flatten_dense(graph: Graph) -> Graph:
    """The graph with every dense layer from [M, K] to [M, N]."""
    chosen = [
        index
        for index, node in enumerate(graph.nodes)
        if isinstance(node.attrs, FullyConnected) and not _is_flat(graph, node)
    ]
    if not chosen:
        return graph
    rewriter = Rewriter(graph)
    for index in chosen:
        node, site = graph.nodes[index], site_of(graph, index)
        data, output = node.inputs[0], node.outputs[0]
        if data is None:
            continue
        rows, width = rows_of(site), site.input(1).shape[-1]
        source, made = graph.type(data), graph.type(output)
        flat = _view(rewriter, f"{node.name}/flat", data, source, (rows, width), index)
        result = TensorType(made.dtype, (rows, made.shape[-1]), made.quant)
        attrs = dataclasses.replace(node.attrs, keep_dims=False)  # type: ignore[type-var]
        inputs = (flat, *node.inputs[1:])
        (dense,) = rewriter.node(
            node.name, attrs, inputs, ((f"{graph.values[output].name}/flat", result),), before=index
        )
        rewriter.replace_node(index, Node(f"{node.name}/shape", Reshape(made.shape), (dense,), node.outputs))
    return rewriter.freeze()


def _is_flat(graph: Graph, node: Node) -> bool:
    data = node.inputs[0]
    return data is not None and len(graph.type(data).shape) == len(graph.type(node.outputs[0]).shape) == 2


def _view(
    rewriter: Rewriter, name: str, value: int, type_: TensorType, shape: tuple[int, ...], before: int
) -> int:
    if type_.shape == shape:
        return value
    flat = TensorType(type_.dtype, shape, type_.quant)
    (made,) = rewriter.node(name, Reshape(shape), (value,), ((name, flat),), before=before)
    return made
