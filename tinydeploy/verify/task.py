"""One table for a user's task: float model, integer reference and board, scored on the same data."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tinydeploy.errors import TinyDeployError, UnsupportedError
from tinydeploy.ir import Array, Graph
from tinydeploy.ops.exactness import is_exact
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.verify.float_meaning import float_meaning
from tinydeploy.verify.labels import Labels, load_labels
from tinydeploy.verify.metrics import Float64, Metric, real, score
from tinydeploy.verify.samples import Sample, load_inputs, ports_of, read_arrays


@dataclass(frozen=True, slots=True)
class Scores:
    """A metric over the data. ``real`` is that of the float network, None where it is not known; it alone
    counts where ``reference`` is None: the model is no integer network."""

    metric: Metric
    samples: int
    real: float | None
    reference: float | None
    board: float

    def as_json(self) -> dict[str, object]:
        return {
            "metric": self.metric.value,
            "samples": self.samples,
            "float": self.real,
            "reference": self.reference,
            "board": self.board,
        }


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be scored: ``graph`` as it was imported, the data as it takes it, the right answers.

    ``float_graph`` is the float network, None where it is not known, and ``float_samples`` the data for it.
    """

    graph: Graph
    metric: Metric
    samples: Sequence[Sample]
    labels: Labels
    float_graph: Graph | None
    float_samples: Sequence[Sample]

    def scores(self, compiled: Graph, board: Iterable[Sequence[Array]]) -> Scores:
        """The scores of the float network, of the compiled graph's reference, and of the board's outputs.

        Every sample is a run of its own, from reset state variables.
        """
        made = self._score(compiled, [outputs[0] for outputs in board])
        reference = self._score(compiled, _first_outputs(compiled, self.samples))
        if not is_exact(compiled):
            return Scores(self.metric, len(self.samples), reference, None, made)
        return Scores(self.metric, len(self.samples), self._float_score(), reference, made)

    def _score(self, graph: Graph, outputs: Sequence[Array]) -> float:
        type_ = graph.type(graph.outputs[0])
        return score(self.metric, [real(array, type_) for array in outputs], self._inputs(), self.labels)

    def _inputs(self) -> list[Float64]:
        type_ = self.graph.type(self.graph.inputs[0])
        return [real(sample[0], type_) for sample in self.samples]

    def _float_score(self) -> float | None:
        if self.float_graph is None:
            return None
        return self._score(self.float_graph, _first_outputs(self.float_graph, self.float_samples))


def _first_outputs(graph: Graph, samples: Sequence[Sample]) -> list[Array]:
    interpreter = Interpreter(graph)
    outputs: list[Array] = []
    for sample in samples:
        interpreter.reset()
        outputs.append(interpreter.run(sample)[0])
    return outputs


def task_of(
    graph: Graph,
    metric: Metric,
    data: Path,
    labels: Path,
    *,
    real_inputs: bool,
    imported: Graph,
    float_graph: Graph | None,
) -> Task:
    """Data and labels of a task, read and checked; ``graph`` is what runs.

    Without a ``float_graph`` of its own the task has the float meaning of ``imported``, the model as its file
    has it, where there is one.
    Raises TinyDeployError where files do not fit the models or each other.
    """
    samples = load_inputs(data, ports_of(graph), real=real_inputs)
    answers = load_labels(labels, len(samples))
    if float_graph is None:
        try:
            float_graph = float_meaning(imported)
        except UnsupportedError:
            float_graph = None
    brought = () if float_graph is None else _float_samples(data, graph, samples, float_graph)
    return Task(graph, metric, samples, answers, float_graph, brought)


def _float_samples(
    data: Path, graph: Graph, samples: Sequence[Sample], float_graph: Graph
) -> Sequence[Sample]:
    """The file's own floats where it holds some, else the numbers that the samples' steps stand for."""
    if all(array.dtype == np.float32 for array in read_arrays(data).values()):
        return load_inputs(data, ports_of(float_graph))
    given = [graph.type(value) for value in graph.inputs]
    wanted = [float_graph.type(value) for value in float_graph.inputs]
    if [type_.elements for type_ in given] != [type_.elements for type_ in wanted]:
        raise TinyDeployError(
            f"the float model has inputs of {[list(type_.shape) for type_ in wanted]}, "
            f"the integer model of {[list(type_.shape) for type_ in given]}",
            where=float_graph.name,
            fix="Give the model that was quantized",
        )
    return [
        tuple(
            real(array, source).astype(target.dtype.numpy).reshape(target.shape)
            for array, source, target in zip(sample, given, wanted, strict=True)
        )
        for sample in samples
    ]
