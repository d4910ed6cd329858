"""The program: ordered steps of kernel instances, plain data that the planner and the generator read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tinydeploy.errors import GraphError
from tinydeploy.ir import Array, DType, Graph
from tinydeploy.kernels.base import Kernel
from tinydeploy.kernels.targets import Target


@dataclass(frozen=True, slots=True)
class Call:
    """One kernel instance at work: node ``node`` of the graph, reading and writing values by id.

    ``inputs`` follow the kernel's accesses; they are values after aliasing (see ``Program.storage``).
    ``others`` are the values of ``kernel.more``.
    """

    node: int
    kernel: Kernel
    inputs: tuple[int, ...]
    output: int
    others: tuple[int, ...] = ()

    @property
    def outputs(self) -> tuple[int, ...]:
        """Every value that the call writes."""
        return (self.output, *self.others)

    def rows(self, arrays: Mapping[int, Array]) -> list[bytes]:
        """What a trace of the call reports, given the arrays of all values: its rows in ascending order,
        then each further output as one row."""
        data, row_bytes = arrays[self.output].tobytes(), self.kernel.result.row_bytes
        rows = [data[start : start + row_bytes] for start in range(0, len(data), row_bytes)]
        return rows + [arrays[value].tobytes() for value in self.others]


@dataclass(frozen=True, slots=True)
class Ring:
    """A value of which only the newest ``rows`` rows are kept, inside one step."""

    value: int
    rows: int


@dataclass(frozen=True, slots=True)
class Step:
    """What runs between two points at which all live tensors are whole.

    One call runs over all its bands. Several calls are a row segment: they run band by band, each as soon
    as its rows are there, later calls first; values that live only inside are ``rings``.
    """

    calls: tuple[Call, ...]
    rings: tuple[Ring, ...] = ()

    @property
    def scratch_bytes(self) -> int:
        """Scratch is not kept between calls, so the calls of a step share it."""
        return max(call.kernel.scratch_bytes for call in self.calls)

    def ring_of(self, value: int) -> Ring | None:
        return next((ring for ring in self.rings if ring.value == value), None)


@dataclass(frozen=True, slots=True)
class Program:
    """A graph with a decision for every node.

    ``storage`` maps each value to the value whose memory it shares (itself, or the source of a chain of
    views).
    """

    graph: Graph
    target: Target
    steps: tuple[Step, ...]
    storage: tuple[int, ...]

    @property
    def align_bytes(self) -> int:
        """What every buffer's address is a multiple of: 8 where the graph has 64-bit values."""
        wide = any(value.type.dtype is DType.INT64 for value in self.graph.values)
        return 8 if wide else 4

    def commits(self) -> tuple[tuple[int, int], ...]:
        """(from, to) of the copies that end a run: each state variable takes its new value.

        In an order in which nothing is overwritten before it is read. Raises GraphError where variables
        exchange their values, for which there is no such order.
        """
        pending = {
            self.storage[state.before]: self.storage[state.after]
            for state in self.graph.states
            if self.storage[state.after] != self.storage[state.before]
        }
        ordered: list[tuple[int, int]] = []
        while pending:
            read = set(pending.values())
            free = [target for target in pending if target not in read]
            if not free:
                raise GraphError("state variables exchange their values", where=self.graph.name)
            ordered += [(pending.pop(target), target) for target in free]
        return tuple(ordered)

    def calls(self) -> Iterator[Call]:
        """Every call in the order of steps; a call's position is its instance number in traces."""
        return (call for step in self.steps for call in step.calls)
