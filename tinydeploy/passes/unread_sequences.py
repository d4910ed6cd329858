"""Recurrent operators whose sequence nobody reads do not keep it: last states need a fraction of its RAM."""

from __future__ import annotations

import dataclasses

from tinydeploy.ir import Graph, Node, Rewriter
from tinydeploy.ops.gru import Gru
from tinydeploy.ops.lstm import Lstm
from tinydeploy.ops.rnn import Rnn


def unread_sequences(graph: Graph) -> Graph:
    """The graph with only the last states where the sequence is not read."""
    read = {value for node in graph.nodes for value in node.inputs}
    read |= {*graph.outputs, *(state.after for state in graph.states)}
    found = [
        index
        for index, node in enumerate(graph.nodes)
        if isinstance(node.attrs, Lstm | Gru | Rnn) and node.attrs.sequence and node.outputs[0] not in read
    ]
    if not found:
        return graph
    rewriter = Rewriter(graph)
    for index in found:
        node = graph.nodes[index]
        attrs = dataclasses.replace(node.attrs, sequence=False)  # type: ignore[type-var]
        rewriter.replace_node(index, Node(node.name, attrs, node.inputs, node.outputs[1:]))
    return rewriter.freeze()
