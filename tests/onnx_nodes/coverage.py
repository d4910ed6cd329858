"""How many of ONNX's node tests pass in generated C: ``python -m tests.onnx_nodes.coverage [FILTER]``.

Without a filter it writes docs/ONNX_SUPPORT.md, and failing.txt beside this file, which the tests read.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from tests.onnx_nodes.harness import Job, Outcome, run_jobs
from tests.onnx_nodes.nodes import NodeTest, node_tests
from tests.onnx_nodes.support import DOCUMENT, FAILING, Result, document, summary
from tinydeploy.build import compile_graph
from tinydeploy.errors import TinyDeployError, UnsupportedError
from tinydeploy.frontends.onnx import load_bytes
from tinydeploy.ir import Array, Graph
from tinydeploy.kernels.targets import target_of
from tinydeploy.ops.interpreter import Interpreter

BATCH = 48
RELATIVE, ABSOLUTE = 1e-4, 1e-5
"""Of float results; ONNX itself allows 1e-3 and 1e-7."""
ROUNDED = frozenset(
    (
        "test_averagepool_2d_ceil_last_window_starts_on_pad",
        "test_gridsample_bicubic",
        "test_roialign_aligned_false",
        "test_roialign_aligned_true",
    )
)
"""Tests that give their results with four digits only: for these, ONNX's own 1e-3."""


def evaluate(tests: Sequence[NodeTest], folder: Path) -> Iterator[Result]:
    """Import, compile, build, run and compare eligible tests, a batch at a time."""
    eligible = [test for test in tests if not test.excluded]
    for start in range(0, len(eligible), BATCH):
        yield from _batch(eligible[start : start + BATCH], folder / str(start))


def _batch(tests: Sequence[NodeTest], folder: Path) -> list[Result]:
    results: dict[str, Result] = {}
    jobs: list[tuple[NodeTest, Job]] = []
    for index, test in enumerate(tests):
        made = _job(test, f"n{index}")
        if isinstance(made, str):
            results[test.name] = Result(test, made)
        else:
            jobs.append((test, made))
    for (test, job), outcome in zip(jobs, run_jobs([job for _, job in jobs], folder), strict=True):
        results[test.name] = Result(test, _judged(test, job, outcome))
    return [results[test.name] for test in tests]


def _job(test: NodeTest, prefix: str) -> Job | str:
    """The compiled test, or why it does not compile."""
    try:
        graph = load_bytes(test.model.SerializeToString(), test.name)
        _check_interface(graph, test)
        return Job(
            compile_graph(graph, target_of("host"), name=prefix),
            tuple(inputs for inputs, _ in test.data_sets),
        )
    except UnsupportedError as error:
        gap = error.gaps[0]
        return f"{gap.op}: {gap.reason}"
    except TinyDeployError as error:
        return f"{type(error).__name__}: {error}"
    except Exception as error:  # a defect of ours, which must not hide the other tests
        return f"defect: {type(error).__name__}: {error}"


def _check_interface(graph: Graph, test: NodeTest) -> None:
    for inputs, _ in test.data_sets:
        types = [graph.type(value) for value in graph.inputs]
        got = [(array.dtype, array.shape) for array in inputs]
        if got != [(type_.dtype.numpy, type_.shape) for type_ in types]:
            raise TinyDeployError(f"inputs are {got}, the graph has {types}")


def _judged(test: NodeTest, job: Job, outcome: Outcome) -> str:
    if outcome.failure:
        return outcome.failure
    for got, (_, expected) in zip(outcome.outputs, test.data_sets, strict=True):
        difference = _difference(got, expected, test)
        if difference:
            return f"{_guilty(test, job)}: {difference}"
    return ""


def _guilty(test: NodeTest, job: Job) -> str:
    """Whether the reference is wrong too."""
    interpreter = Interpreter(job.compiled.graph)
    with np.errstate(all="ignore"):
        for inputs, expected in test.data_sets:
            if _difference(interpreter.run(inputs), expected, test):
                return "wrong in C and in the reference"
    return "wrong in C"


def _difference(got: Sequence[Array], expected: Sequence[Array], test: NodeTest) -> str:
    """How outputs differ from what the test wants; empty where they do not."""
    for index, (array, wanted) in enumerate(zip(got, expected, strict=False)):
        if (array.dtype, array.shape) != (wanted.dtype, wanted.shape):
            types = [f"{item.dtype}{list(item.shape)}" for item in (array, wanted)]
            return f"output {index} is {types[0]}, wanted {types[1]}"
        if array.dtype == np.float32:
            relative = 1e-3 if test.name in ROUNDED else RELATIVE
            close = np.isclose(array, wanted, relative, ABSOLUTE, equal_nan=True)
        else:
            close = np.abs(array.astype(np.int64) - wanted.astype(np.int64)) <= test.steps
        if not close.all():
            where = tuple(int(i) for i in np.argwhere(~close)[0])
            count = int(np.count_nonzero(~close))
            return f"output {index}: {count} of {array.size} differ, {array[where]} for {wanted[where]}"
    return "" if len(got) == len(expected) else f"{len(got)} outputs, wanted {len(expected)}"


def main() -> None:
    """Evaluate the tests whose names or operators fit the arguments; without any, all of them."""
    wanted = sys.argv[1:]
    chosen = [t for t in node_tests() if all(part in t.name or part == t.op for part in wanted)]
    with tempfile.TemporaryDirectory() as folder:
        results = list(evaluate(chosen, Path(folder)))
    for result in results:
        if result.failure:
            print(f"{result.test.name} [{result.test.op}]: {result.failure[:300]}")
    print(summary(chosen, results))
    if not wanted:
        DOCUMENT.write_text(document(chosen, results), encoding="utf-8")
        failing = sorted(result.test.name for result in results if result.failure)
        FAILING.write_text("".join(f"{name}\n" for name in failing), encoding="utf-8")


if __name__ == "__main__":
    main()
