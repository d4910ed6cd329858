"""Values that the format holds as plain integers get the scale with which they are read."""

from __future__ import annotations

import dataclasses

from tinydeploy.ir import Array, Graph, Quant, Rewriter, TensorType
from tinydeploy.ops import OPS, site_of
from tinydeploy.ops.movement import moved_inputs
from tinydeploy.ops.quantize import Quantize
from tinydeploy.ops.reinterpret import Reinterpret
from tinydeploy.passes.integerize.wanted import is_monotone


def settle(graph: Graph) -> Graph:
    """The graph with quantized constants computed, and with as few Reinterpret nodes as can be."""
    return _with_interface(_without_pairs(_folded(graph)))


def _folded(graph: Graph) -> Graph:
    """Quantize of constants is computed: so quantization-aware training leaves weights; Reinterpret too."""
    known: dict[int, Array] = {}
    edit = Rewriter(graph)
    for index, node in enumerate(graph.nodes):
        value = node.inputs[0] if node.inputs else None
        if value is None or not isinstance(node.attrs, Quantize | Reinterpret):
            continue
        array = known.get(value)
        if array is None:
            if not graph.values[value].is_constant:
                continue
            array = graph.array(value)
        (result,) = OPS[node.op].reference(site_of(graph, index), (array,))
        output = node.outputs[0]
        known[output] = result
        made = edit.constant(graph.values[output].name, graph.type(output), result)
        edit.replace_value(output, made)
        edit.remove_node(index)
    return edit.freeze() if known else graph


def _without_pairs(graph: Graph) -> Graph:
    """Steps that become integers and then the same steps again stay steps, through moves and maxima too."""
    steps: dict[int, int] = {}
    types: dict[int, TensorType] = {}
    edit = Rewriter(graph)
    changed = False

    def type_of(value: int) -> TensorType:
        return types[value] if value in types else graph.type(value)

    for index, node in enumerate(graph.nodes):
        output = node.outputs[0]
        if isinstance(node.attrs, Reinterpret):
            value = node.inputs[0]
            if value is None:
                continue
            source = steps.get(value, value)
            type_ = type_of(source)
            if graph.type(output).quant is None:
                steps[output] = source
            elif type_ == graph.type(output) and source != value:
                edit.replace_value(output, source)
                edit.remove_node(index)
                types[output] = type_
                changed = True
            continue
        moved = (0,) if is_monotone(node) else moved_inputs(node.attrs, len(node.inputs))
        sources = {steps.get(value) for position in moved if (value := node.inputs[position]) is not None}
        quants = {None if source is None else type_of(source).quant for source in sources}
        if not moved or len(node.outputs) != 1 or None in sources or len(quants) != 1:
            continue
        (quant,) = quants
        if quant is None or not quant.per_tensor or graph.type(output).quant is not None:
            continue
        operands = tuple(
            steps[value] if position in moved and value is not None else value
            for position, value in enumerate(node.inputs)
        )
        type_ = dataclasses.replace(graph.type(output), quant=quant)
        (made,) = edit.node(
            node.name, node.attrs, operands, ((graph.values[output].name, type_),), before=index
        )
        (plain,) = edit.node(
            node.name,
            Reinterpret(),
            (made,),
            ((graph.values[output].name, graph.type(output)),),
            before=index,
        )
        edit.replace_value(output, plain)
        edit.remove_node(index)
        types[made] = type_
        steps[output] = made
        changed = True
    return edit.freeze() if changed else graph


def _with_interface(graph: Graph) -> Graph:
    """Inputs that are read as steps alone, and outputs that were steps, say so in their types."""
    quants: dict[int, Quant] = {}
    consumers = graph.consumers()
    for value in graph.inputs:
        readers = [graph.nodes[index] for index in consumers.get(value, ())]
        wanted = {
            graph.type(reader.outputs[0]).quant if isinstance(reader.attrs, Reinterpret) else None
            for reader in readers
        }
        if len(wanted) == 1 and (quant := wanted.pop()) is not None and value not in graph.outputs:
            quants[value] = quant
    if quants:
        values = tuple(
            dataclasses.replace(value, type=dataclasses.replace(value.type, quant=quants[index]))
            if index in quants
            else value
            for index, value in enumerate(graph.values)
        )
        graph = dataclasses.replace(graph, values=values)
    producers = graph.producers()
    edit = Rewriter(graph)
    for index, node in enumerate(graph.nodes):
        if isinstance(node.attrs, Reinterpret) and node.inputs[0] in quants:
            edit.replace_value(node.outputs[0], node.inputs[0])
            edit.remove_node(index)
    graph = edit.freeze()
    producers = graph.producers()
    ends = {
        value: graph.nodes[producers[value]].inputs[0]
        for value in graph.outputs
        if value in producers and isinstance(graph.nodes[producers[value]].attrs, Reinterpret)
    }
    renamed = {source: graph.values[value].name for value, source in ends.items() if source is not None}
    outputs = tuple(source if (source := ends.get(value)) is not None else value for value in graph.outputs)
    values = tuple(
        dataclasses.replace(value, name=renamed.get(index, value.name))
        for index, value in enumerate(graph.values)
    )
    return Rewriter(dataclasses.replace(graph, outputs=outputs, values=values)).freeze()
