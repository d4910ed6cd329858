"""The program: ordered steps of kernel instances, plain data that the planner and the generator read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from tinydeploy.ir import Graph
from tinydeploy.kernels.base import Kernel
from tinydeploy.kernels.targets import Target


@dataclass(frozen=True, slots=True)
class Call:
    """One kernel instance at work: node ``node`` of the graph, reading and writing values by id.

    ``inputs`` follow the kernel's accesses; they are values after aliasing (see ``Program.storage``).
    """

    node: int
    kernel: Kernel
    inputs: tuple[int, ...]
    output: int


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

    def calls(self) -> Iterator[Call]:
        """Every call in the order of steps; a call's position is its instance number in traces."""
        return (call for step in self.steps for call in step.calls)
