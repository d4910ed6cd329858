"""What every export format starts from: a compiled model, the board it is for, and a test vector."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tinydeploy.boards import Board
from tinydeploy.build import Compiled
from tinydeploy.codegen import Files
from tinydeploy.errors import TinyDeployError
from tinydeploy.ir import Array, DType, Graph, TensorType
from tinydeploy.ops.exactness import is_exact
from tinydeploy.ops.interpreter import Interpreter

Tree = dict[str, str | bytes]
"""Relative POSIX path to content."""

SEED = 20261201

_INDEX_TYPES = (DType.INT32, DType.UINT32, DType.INT64)
_INDEX_END = 2


@dataclass(frozen=True, slots=True)
class TestVector:
    """Inputs and what the reference computes from them, in the model's order, shapes and types.

    ``exact``: every machine computes these bits; else floats are close to them, and integers that were
    quantized from floats at most a step away.
    """

    __test__ = False  # for pytest: not a class of tests

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]
    exact: bool


@dataclass(frozen=True, slots=True)
class Project:
    """A compiled model with what every example needs. ``board`` None: any board."""

    compiled: Compiled
    board: Board | None
    vector: TestVector

    @property
    def name(self) -> str:
        """The C prefix: legal in C, unique among the models of a program, safe in every format."""
        return self.compiled.library.prefix

    @property
    def sources(self) -> tuple[str, ...]:
        """The C files of the library."""
        return self.compiled.library.sources

    def library_files(self) -> Files:
        """The library's C files and headers, to be placed in a folder of a format's choice."""
        files = self.compiled.library.files
        return {path: text for path, text in files.items() if path.endswith((".c", ".h"))}


Exporter = Callable[[Project], Tree]
"""A format: a project to all files of its tree."""


def make_project(compiled: Compiled, board: Board | None, sample: Sequence[Array] | None = None) -> Project:
    """A project with a test vector from the numpy reference, the same for the same model.

    ``sample`` is the input of the vector, by default random. Raises TinyDeployError where it does not fit.
    """
    return Project(compiled, board, make_vector(compiled.graph, sample))


def make_vector(graph: Graph, sample: Sequence[Array] | None = None) -> TestVector:
    """One run of a graph from its initial state: inputs that are seeded unless given, and its outputs."""
    types = [graph.type(value) for value in (*graph.inputs, *graph.outputs)]
    if any(type_.dtype is DType.INT4 for type_ in types):
        raise TinyDeployError(
            "an input or output of type int4 has no example", where=graph.name, fix="Quantize it to int8"
        )
    generator = np.random.default_rng(SEED)
    inputs = tuple(sample) if sample is not None else _random_inputs(graph, generator)
    outputs = Interpreter(graph).run(inputs)
    return TestVector(inputs, tuple(outputs), is_exact(graph))


def _random_inputs(graph: Graph, generator: np.random.Generator) -> tuple[Array, ...]:
    return tuple(_random(graph.type(value), generator) for value in graph.inputs)


def _random(type_: TensorType, generator: np.random.Generator) -> Array:
    """Any steps of a quantized input, small numbers where they may be indices, floats around zero."""
    if type_.dtype is DType.FLOAT32:
        return generator.standard_normal(type_.shape).astype(np.float32)
    if type_.dtype is DType.BOOL:
        return generator.integers(0, 2, type_.shape).astype(bool)
    low, high = type_.dtype.limits
    if type_.quant is None and type_.dtype in _INDEX_TYPES:
        low, high = 0, _INDEX_END - 1
    drawn = generator.integers(low, high, type_.shape, dtype=np.int64, endpoint=True)
    return drawn.astype(type_.dtype.numpy)
