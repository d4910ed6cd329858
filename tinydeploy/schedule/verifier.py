"""Is a program a complete and runnable plan of its graph?"""

from __future__ import annotations

from tinydeploy.errors import GraphError
from tinydeploy.schedule.program import Program
from tinydeploy.schedule.select import is_view
from tinydeploy.schedule.streaming import verify_segment


def verify(program: Program) -> None:
    """Raise GraphError where a node is missing or doubled, an operand is not there, or a segment fails."""
    graph = program.graph
    scheduled = sorted(call.node for call in program.calls())
    needed = [index for index, node in enumerate(graph.nodes) if not is_view(node)]
    if scheduled != needed:
        raise GraphError(f"the program runs the nodes {scheduled}, the graph has {needed}")
    whole = {program.storage[value] for value in graph.inputs} | set(graph.constants())
    for index, step in enumerate(program.steps):
        where = f"step {index}"
        inside = {call.output for call in step.calls}
        for call in step.calls:
            node = graph.nodes[call.node]
            operands = tuple(node.inputs[operand] for operand in call.kernel.operands)
            roots = tuple(program.storage[value] for value in operands if value is not None)
            if roots != call.inputs or node.outputs != (call.output,):
                raise GraphError(f"the operands of node {node.name!r} are not the graph's", where=where)
            for value in call.inputs:
                if value not in whole and value not in inside:
                    raise GraphError(f"%{value} is read but not there", where=where)
        try:
            verify_segment(step)
        except GraphError as error:
            raise GraphError(error.what, where=where) from None
        whole |= inside - {ring.value for ring in step.rings}
    for value in graph.outputs:
        if program.storage[value] not in whole:
            raise GraphError(f"output %{value} is never written")
