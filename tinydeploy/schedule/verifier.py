"""Is a program a complete and runnable plan of its graph?"""

from __future__ import annotations

from tinydeploy.errors import GraphError
from tinydeploy.schedule.program import Call, Program
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
    whole |= {state.before for state in graph.states}
    for index, step in enumerate(program.steps):
        where = f"step {index}"
        inside = {value for call in step.calls for value in call.outputs}
        for call in step.calls:
            node = graph.nodes[call.node]
            operands = tuple(node.inputs[operand] for operand in call.kernel.operands)
            roots = tuple(program.storage[value] for value in operands if value is not None)
            if roots != call.inputs or node.outputs != call.outputs:
                raise GraphError(f"the operands of node {node.name!r} are not the graph's", where=where)
            _verify_further_results(program, call, where)
            for value in call.inputs:
                if value not in whole and value not in inside:
                    raise GraphError(f"%{value} is read but not there", where=where)
        try:
            verify_segment(step)
        except GraphError as error:
            raise GraphError(error.what, where=where) from None
        whole |= inside - {ring.value for ring in step.rings}
    for value in (*graph.outputs, *(state.after for state in graph.states)):
        if program.storage[value] not in whole:
            raise GraphError(f"output %{value} is never written")
    program.commits()


def _verify_further_results(program: Program, call: Call, where: str) -> None:
    """Outputs after the first are whole tensors that one call writes."""
    sizes = tuple(program.graph.type(value).bytes for value in call.others)
    written = tuple(result.rows * result.row_bytes for result in call.kernel.more)
    if sizes != written or (sizes and call.kernel.bands != 1):
        name = program.graph.nodes[call.node].name
        raise GraphError(
            f"the further outputs of node {name!r} have {list(sizes)} bytes, "
            f"its kernel writes {list(written)} in {call.kernel.bands} bands",
            where=where,
        )
