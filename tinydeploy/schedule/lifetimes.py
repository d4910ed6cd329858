"""Program to memory requests: which bytes must exist during which steps."""

from __future__ import annotations

from collections.abc import Iterable

from tinydeploy.ir import Graph
from tinydeploy.memplan import Buffer, Kind
from tinydeploy.schedule.program import Program


class Lives:
    """First and last step of every value that needs memory, views counted as their source."""

    def __init__(self, graph: Graph, storage: tuple[int, ...]) -> None:
        self._graph = graph
        self._storage = storage
        self._lives: dict[int, tuple[int, int]] = {}

    def touch(self, values: Iterable[int], step: int) -> None:
        """The values exist during ``step``; constants need no memory and are passed over."""
        for value in values:
            root = self._storage[value]
            if not self._graph.values[root].is_constant:
                first, last = self._lives.get(root, (step, step))
                self._lives[root] = min(first, step), max(last, step)

    def items(self) -> list[tuple[int, tuple[int, int]]]:
        """(value, (first, last)) in order of value ids."""
        return sorted(self._lives.items())


def scratch_key(program: Program, step: int) -> int:
    """Key of a step's scratch buffer; keys of tensors and rings are value ids."""
    return len(program.graph.values) + step


def step_count(program: Program) -> int:
    """Steps of the memory problem; a program without steps still holds its inputs for one."""
    return max(len(program.steps), 1)


def buffers(program: Program) -> tuple[Buffer, ...]:
    """The requests of a program, in key order.

    All inputs are alive from step 0, because the caller writes them before the run; all outputs stay alive
    to the last step. State variables are alive throughout, their new values to the last step. A constant
    needs no memory, nor does a view.
    """
    graph, steps = program.graph, step_count(program)
    lives = Lives(graph, program.storage)
    lives.touch(graph.inputs, 0)
    for index, step in enumerate(program.steps):
        for call in step.calls:
            lives.touch((*call.inputs, *call.outputs), index)
    lives.touch(graph.outputs, steps - 1)
    for state in graph.states:
        lives.touch((state.before,), 0)
        lives.touch((state.before, state.after), steps - 1)

    ring_sizes = {
        ring.value: ring.rows * call.kernel.result.row_bytes
        for step in program.steps
        for ring in step.rings
        for call in step.calls
        if call.output == ring.value
    }
    requests = [
        Buffer(
            key=value,
            size=ring_sizes.get(value, graph.type(value).bytes),
            first=first,
            last=last,
            kind=Kind.RING if value in ring_sizes else Kind.TENSOR,
        )
        for value, (first, last) in lives.items()
    ]
    requests += [
        Buffer(scratch_key(program, index), step.scratch_bytes, index, index, Kind.SCRATCH)
        for index, step in enumerate(program.steps)
        if step.scratch_bytes
    ]
    return tuple(requests)
