"""Compute at compile time what does not depend on any input."""

from __future__ import annotations

from tinydeploy.ir import Array, Graph, Rewriter
from tinydeploy.ops import OPS, site_of

MAX_BYTES = 1 << 24
"""Results above this size are left to run time: flash is not free."""


def fold_constants(graph: Graph) -> Graph:
    """The graph with every node of constant inputs replaced by its results."""
    known: dict[int, Array] = {value: graph.array(value) for value in graph.constants()}
    folded: dict[int, tuple[Array, ...]] = {}
    for index, node in enumerate(graph.nodes):
        operands = tuple(None if value is None else known.get(value) for value in node.inputs)
        missing = any(
            value is not None and operand is None
            for value, operand in zip(node.inputs, operands, strict=True)
        )
        if missing or not node.inputs or sum(graph.type(out).bytes for out in node.outputs) > MAX_BYTES:
            continue
        folded[index] = OPS[node.op].reference(site_of(graph, index), operands)
        known.update(zip(node.outputs, folded[index], strict=True))
    if not folded:
        return graph
    rewriter = Rewriter(graph)
    for index, results in folded.items():
        for value, array in zip(graph.nodes[index].outputs, results, strict=True):
            new = rewriter.constant(graph.values[value].name, graph.type(value), array)
            rewriter.replace_value(value, new)
        rewriter.remove_node(index)
    return rewriter.freeze()
