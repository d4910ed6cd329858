"""Runs of generated code against the reference, instance by instance."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tinydeploy.ir import Array
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.schedule import Program
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
class Comparison:
    """What a verification saw. ``mismatches`` counts output elements that differ over all samples."""

    samples: int
    mismatches: int
    max_abs_diff: float
    instances_compared: int
    first_bad_step: Mismatch | None

    @property
    def bit_exact(self) -> bool:
        return self.mismatches == 0 and self.first_bad_step is None


class OutputTally:
    """Counts differing elements of outputs over samples."""

    def __init__(self) -> None:
        self.mismatches = 0
        self.max_abs_diff = 0.0

    def add(self, expected: Iterable[Array], got: Iterable[Array]) -> None:
        """Compare the outputs of one sample."""
        for wanted, array in zip(expected, got, strict=True):
            difference = np.abs(array.astype(np.float64) - wanted.astype(np.float64))
            self.mismatches += int(np.count_nonzero(difference))
            self.max_abs_diff = max(self.max_abs_diff, float(difference.max(initial=0.0)))


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
    """Compare every answer with the reference: all outputs and all rows of all kernel instances."""
    graph = program.graph
    interpreter = Interpreter(graph)
    calls = list(program.calls())
    tally, compared = OutputTally(), 0
    first: Mismatch | None = None
    for index, (sample, answer) in enumerate(zip(samples, answers, strict=True)):
        expected = interpreter.run_all(sample)
        for instance, (call, got) in enumerate(zip(calls, answer.instances, strict=True)):
            compared += 1
            rows = call.rows(expected)
            if first is None and got != b"".join(rows):
                first = mismatch_at(program, index, instance, _first_bad_row(got, rows))
        tally.add((expected[value] for value in graph.outputs), answer.outputs)
        if progress is not None:
            progress(index + 1)
    return Comparison(len(samples), tally.mismatches, tally.max_abs_diff, compared, first)


def _first_bad_row(got: bytes, rows: Sequence[bytes]) -> int:
    """Index of the first row that differs; the number of rows where ``got`` only goes on after them."""
    position = 0
    for index, row in enumerate(rows):
        if got[position : position + len(row)] != row:
            return index
        position += len(row)
    return len(rows)
