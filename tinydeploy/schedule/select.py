"""Graph to program: for every node the cheapest schedule that applies, whole tensors."""

from __future__ import annotations

from tinydeploy.errors import Gap, UnsupportedError
from tinydeploy.ir import Graph, Node
from tinydeploy.kernels import SCHEDULES
from tinydeploy.kernels.base import Kernel, Schedule
from tinydeploy.kernels.targets import Target
from tinydeploy.ops import OPS, AnySite, site_of
from tinydeploy.schedule.program import Call, Program, Step


def is_view(node: Node) -> bool:
    """Whether a node computes nothing: its output is its first input's bytes."""
    return OPS[node.op].view


def storage_of(graph: Graph) -> tuple[int, ...]:
    """For each value the one whose memory it shares: itself, or the source of its chain of views."""
    storage = list(range(len(graph.values)))
    for node in graph.nodes:
        source = node.inputs[0] if node.inputs else None
        if is_view(node) and source is not None:
            storage[node.outputs[0]] = storage[source]
    return tuple(storage)


def candidates(site: AnySite, target: Target) -> tuple[Schedule, ...]:
    """The schedules that can compute a node on a target, in order of preference."""
    return tuple(
        schedule
        for schedule in SCHEDULES
        if isinstance(site.attrs, schedule.op) and schedule.applies(site, target)
    )


def default_kernel(schedule: Schedule, site: AnySite, target: Target) -> Kernel:
    """A schedule with its default knobs."""
    return schedule.make(site, schedule.knobs(site, target)[0])


def schedule(graph: Graph, target: Target) -> Program:
    """One step per node that computes anything; views cost nothing.

    Raises UnsupportedError with every node that no schedule can compute.
    """
    storage = storage_of(graph)
    steps: list[Step] = []
    gaps: list[Gap] = []
    if graph.subgraphs:
        gaps.append(Gap(graph.name, "graph", "subgraphs are not scheduled", "make the control flow static"))
    for index, node in enumerate(graph.nodes):
        if is_view(node):
            continue
        site = site_of(graph, index)
        kernels = [default_kernel(option, site, target) for option in candidates(site, target)]
        if not kernels:
            gaps.append(
                Gap(node.name, node.op, f"no schedule computes it on {target.core}", "use another core")
            )
            continue
        kernel = min(kernels, key=lambda option: option.cost_instructions)
        steps.append(Step((call_of(graph, storage, index, kernel),)))
    if gaps:
        raise UnsupportedError(tuple(gaps), where=graph.name)
    return Program(graph, target, tuple(steps), storage)


def call_of(graph: Graph, storage: tuple[int, ...], index: int, kernel: Kernel) -> Call:
    """Bind a kernel to the values of node ``index``."""
    node = graph.nodes[index]
    operands = (node.inputs[operand] for operand in kernel.operands)
    inputs = tuple(storage[value] for value in operands if value is not None)
    return Call(index, kernel, inputs, node.outputs[0], node.outputs[1:])
