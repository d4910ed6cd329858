"""Drop nodes whose results nobody reads."""

from __future__ import annotations

from tinydeploy.ir import Graph, Rewriter


def remove_unused(graph: Graph) -> Graph:
    """The graph without nodes that no output and no state depends on."""
    needed = {*graph.outputs, *(state.after for state in graph.states)}
    unused: list[int] = []
    for index in reversed(range(len(graph.nodes))):
        node = graph.nodes[index]
        if needed.isdisjoint(node.outputs):
            unused.append(index)
        else:
            needed.update(value for value in node.inputs if value is not None)
    if not unused:
        return graph
    rewriter = Rewriter(graph)
    for index in unused:
        rewriter.remove_node(index)
    return rewriter.freeze()
