"""What a graph needs when every tensor is whole, whatever the kernels: the bound that plans are told by."""

from __future__ import annotations

from tinydeploy.ir import Graph
from tinydeploy.memplan import Buffer, Kind, peak
from tinydeploy.schedule.lifetimes import Lives
from tinydeploy.schedule.select import is_view, storage_of


def graph_bound_bytes(graph: Graph) -> int:
    """Peak of the live bytes over the nodes in their order, whole tensors, scratch left out."""
    storage = storage_of(graph)
    nodes = [node for node in graph.nodes if not is_view(node)]
    lives = Lives(graph, storage)
    lives.touch(graph.inputs, 0)
    for index, node in enumerate(nodes):
        lives.touch((value for value in (*node.inputs, *node.outputs) if value is not None), index)
    last = max(len(nodes) - 1, 0)
    lives.touch(graph.outputs, last)
    for state in graph.states:
        lives.touch((state.before,), 0)
        lives.touch((state.before, state.after), last)
    return peak(
        tuple(
            Buffer(value, graph.type(value).bytes, first, last, Kind.TENSOR)
            for value, (first, last) in lives.items()
        )
    )
