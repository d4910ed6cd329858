"""Runs of generated code against the reference, instance by instance: bits, or floats within a tolerance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tinydeploy.ir import Array, Graph
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.schedule import Call, Program
from tinydeploy.verify.closeness import Distance, distance, tolerance_of
from tinydeploy.verify.samples import Sample


class Answer(Protocol):
    """One run as a board reports it; ``instances`` holds the bytes that each kernel instance wrote."""

    @property
    def outputs(self) -> tuple[Array, ...]: ...
    @property
    def instances(self) -> tuple[bytes, ...]: ...


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first instance that differs, in the order of execution, and its first differing row."""

    sample: int
    instance: int
    name: str
    op: str
    schedule: str
    row: int

    def as_json(self) -> dict[str, object]:
        return {
            "sample": self.sample,
            "instance": self.instance,
            "name": self.name,
            "op": self.op,
            "schedule": self.schedule,
            "row": self.row,
        }


@dataclass(frozen=True, slots=True)
class Worst:
    """The step of a float graph that is furthest from its reference, relative to its largest magnitude."""

    name: str
    op: str
    relative: float

    def as_json(self) -> dict[str, object]:
        return {"name": self.name, "op": self.op, "relative": self.relative}


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a verification saw.

    ``tolerance`` is None where bits were compared, else the relative difference that floats may have.
    ``mismatches`` counts output elements that differ by more over all samples; ``worst`` is known where every
    step of a float graph was looked at.
    """

    samples: int
    mismatches: int
    max_abs_diff: float
    instances_compared: int
    first_bad_step: Mismatch | None
    tolerance: float | None = None
    worst: Worst | None = None

    @property
    def passed(self) -> bool:
        """Whether everything that was compared is as it should be."""
        return self.mismatches == 0 and self.first_bad_step is None

    @property
    def bit_exact(self) -> bool | None:
        """Whether all bits are right; None where floats were compared with a tolerance."""
        return self.passed if self.tolerance is None else None


class OutputTally:
    """Counts differing elements of a graph's outputs over samples."""

    def __init__(self, graph: Graph) -> None:
        self._types = [graph.type(value) for value in graph.outputs]
        self.tolerance = tolerance_of(graph)
        self.mismatches = 0
        self.max_abs_diff = 0.0

    def add(self, expected: Iterable[Array], got: Iterable[Array]) -> None:
        """Compare the outputs of one sample."""
        for wanted, array, type_ in zip(expected, got, self._types, strict=True):
            found = distance(wanted, array, type_, self.tolerance)
            self.mismatches += int(np.count_nonzero(found.differs))
            self.max_abs_diff = max(self.max_abs_diff, found.absolute)


def mismatch_at(program: Program, sample: int, instance: int, row: int) -> Mismatch:
    """The mismatch of kernel instance ``instance``, with the names that a user knows."""
    call = list(program.calls())[instance]
    node = program.graph.nodes[call.node]
    return Mismatch(sample, instance, node.name, node.op, call.kernel.instance.schedule, row)


def compare(
    program: Program,
    samples: Sequence[Sample],
    answers: Iterable[Answer],
    progress: Callable[[int], None] | None = None,
) -> Comparison:
    """Compare every answer with the reference: all outputs and all rows of all kernel instances.

    State variables go on from sample to sample, on both sides from their initial values.
    """
    graph = program.graph
    interpreter = Interpreter(graph)
    calls = list(program.calls())
    tally, compared = OutputTally(graph), 0
    first: Mismatch | None = None
    worst: Worst | None = None
    for index, (sample, answer) in enumerate(zip(samples, answers, strict=True)):
        expected = interpreter.run_all(sample)
        for instance, (call, got) in enumerate(zip(calls, answer.instances, strict=True)):
            compared += 1
            rows = call.rows(expected)
            if got == b"".join(rows):
                continue
            bad: int | None
            if tally.tolerance is None or len(got) != sum(map(len, rows)):
                bad = _first_bad_row(got, rows)
            else:
                bad, relative = _first_far_row(graph, call, expected, got, tally.tolerance)
                if worst is None or relative > worst.relative:
                    node = graph.nodes[call.node]
                    worst = Worst(node.name, node.op, relative)
            if first is None and bad is not None:
                first = mismatch_at(program, index, instance, bad)
        tally.add((expected[value] for value in graph.outputs), answer.outputs)
        if progress is not None:
            progress(index + 1)
    return Comparison(
        len(samples), tally.mismatches, tally.max_abs_diff, compared, first, tally.tolerance, worst
    )


def _first_bad_row(got: bytes, rows: Sequence[bytes]) -> int:
    """Index of the first row that differs; the number of rows where ``got`` only goes on after them."""
    position = 0
    for index, row in enumerate(rows):
        if got[position : position + len(row)] != row:
            return index
        position += len(row)
    return len(rows)


def _first_far_row(
    graph: Graph, call: Call, expected: Mapping[int, Array], got: bytes, tolerance: float
) -> tuple[int | None, float]:
    """Index of the first row beyond the tolerance, if any, and the largest relative difference."""
    position, rows, first, relative = 0, 0, None, 0.0
    for value in call.outputs:
        type_ = graph.type(value)
        array = np.frombuffer(got[position : position + type_.bytes], type_.dtype.numpy)
        found: Distance = distance(expected[value].reshape(-1), array, type_, tolerance)
        if first is None and found.differs.any():
            element = int(np.argmax(found.differs)) * type_.dtype.bits // 8
            first = rows + (element // call.kernel.result.row_bytes if value == call.output else 0)
        relative = max(relative, found.relative)
        position += type_.bytes
        rows += call.kernel.result.rows if value == call.output else 1
    return first, relative
