"""Are the names of a file text? The protocol buffer's reader hands out bytes where they are not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, ValueInfoProto

MAX_DEPTH = 64


def all_text(model: ModelProto) -> bool:
    """Whether every name that the import looks at is valid UTF-8."""
    return not any(isinstance(name, bytes) for name in _of_model(model))


def _of_model(model: ModelProto) -> Iterator[object]:
    yield from (item.domain for item in model.opset_import)
    yield from _of_graph(model.graph, 0)
    for function in model.functions:
        yield from (function.name, function.domain, function.overload)
        yield from (*function.input, *function.output)
        yield from (item.domain for item in function.opset_import)
        yield from _of_nodes(function.node, 0)


def _of_graph(graph: GraphProto, depth: int) -> Iterator[object]:
    yield from _of_ports((*graph.input, *graph.output, *graph.value_info))
    yield from (tensor.name for tensor in graph.initializer)
    yield from (sparse.values.name for sparse in graph.sparse_initializer)
    yield from _of_nodes(graph.node, depth)


def _of_ports(infos: Iterable[ValueInfoProto]) -> Iterator[object]:
    for info in infos:
        yield info.name
        yield from (dim.dim_param for dim in info.type.tensor_type.shape.dim)


def _of_nodes(nodes: Iterable[NodeProto], depth: int) -> Iterator[object]:
    for node in nodes:
        yield from (node.name, node.op_type, node.domain, node.overload)
        yield from (*node.input, *node.output)
        for attribute in node.attribute:
            yield from (attribute.name, attribute.ref_attr_name)
            if attribute.type == AttributeProto.GRAPH and depth < MAX_DEPTH:
                yield from _of_graph(attribute.g, depth + 1)
