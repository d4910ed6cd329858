"""Let transposes move towards the outputs until they cancel: images stay [N, H, W, C] from end to end.

A format that keeps channels before the image brings a pair of transposes around every convolution. Each value
is held as an arrangement of another one's elements, and made only where an operator needs its own order.
"""

from __future__ import annotations

from tinydeploy.ir import Graph
from tinydeploy.passes.layout.moves import MOVES
from tinydeploy.passes.layout.rebuild import Rebuild
from tinydeploy.passes.remove_unused import remove_unused


def layout(graph: Graph) -> Graph:
    """The graph with as few elements transposed as this finds; the same graph where it finds nothing."""
    if not any(node.op == "Transpose" for node in graph.nodes):
        return graph
    new = Rebuild(graph)
    for node in graph.nodes:
        move = MOVES.get(node.op)
        if move is None or not move(new, node):
            new.copy(node)
    moved = remove_unused(new.freeze())
    return moved if _moved_elements(moved) < _moved_elements(graph) else graph


def _moved_elements(graph: Graph) -> int:
    return sum(graph.type(node.outputs[0]).elements for node in graph.nodes if node.op == "Transpose")
