"""A float input that is moved and then quantized is quantized first: a fourth of the bytes is moved."""

from __future__ import annotations

import dataclasses

from tinydeploy.ir import Graph, Node, Rewriter
from tinydeploy.ops.movement import fill_of
from tinydeploy.ops.quantize import Quantize
from tinydeploy.passes.integerize.wanted import moves_of


def raised(graph: Graph) -> Graph:
    """The graph with Quantize of one scale next to the graph's inputs."""
    producers, consumers = graph.producers(), graph.consumers()
    edit = Rewriter(graph)
    changed = False
    for index, node in enumerate(graph.nodes):
        if not isinstance(node.attrs, Quantize) or node.inputs[0] is None:
            continue
        type_ = graph.type(node.outputs[0])
        if type_.quant is None or not type_.quant.per_tensor:
            continue
        chain: list[Node] = []
        value = node.inputs[0]
        while value in producers and _passes(graph.nodes[producers[value]]):
            if len(consumers[value]) > 1 or value in graph.outputs:
                break
            chain.append(graph.nodes[producers[value]])
            value = chain[-1].inputs[0] or 0
        if not chain or value not in graph.inputs:
            continue
        name = graph.values[node.outputs[0]].name
        steps = dataclasses.replace(type_, shape=graph.type(value).shape)
        (made,) = edit.node(node.name, node.attrs, (value,), ((f"{name}/input", steps),), before=index)
        for move in reversed(chain):
            moved = dataclasses.replace(type_, shape=graph.type(move.outputs[0]).shape)
            inputs = (made, *move.inputs[1:])
            label = name if move is chain[0] else f"{name}/{graph.values[move.outputs[0]].name}"
            (made,) = edit.node(move.name, move.attrs, inputs, ((label, moved),), before=index)
        edit.replace_value(node.outputs[0], made)
        edit.remove_node(index)
        changed = True
    return edit.freeze() if changed else graph


def _passes(node: Node) -> bool:
    return moves_of(node) == (0,) and len(node.outputs) == 1 and fill_of(node.attrs) is None
