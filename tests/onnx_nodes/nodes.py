"""ONNX's node tests as our cases: eligible ones with their compile-time inputs bound."""

from __future__ import annotations

import functools
import os
import pickle
import re
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto, numpy_helper

from tests.onnx_nodes.exclusions import BOUND, DOMAINS, KINDS, OPERATORS, TESTS, TYPES
from tinydeploy.ir import Array

_EXPANDED = re.compile(r"_expanded.*$")
"""Such a test is the function body of the operator that the rest of its name tests."""

STEP_OPERATORS = frozenset(
    ("DynamicQuantizeLinear", "QLinearConv", "QLinearMatMul", "QuantizeLinear", "QLinearAdd")
)
"""Their integer results may differ by one step; other integers are exact."""


_KEPT = Path("build") / f"onnx-{onnx.__version__}-node-tests.pickle"


@dataclass(frozen=True, slots=True)
class _Kept:
    """What is used of a test of the package."""

    name: str
    model: ModelProto
    data_sets: Any


@dataclass(frozen=True, slots=True)
class NodeTest:
    """One test: ``excluded`` says why it does not count, or is empty."""

    name: str
    op: str
    model: ModelProto
    data_sets: tuple[tuple[tuple[Array, ...], tuple[Array, ...]], ...]
    excluded: str = ""

    @property
    def steps(self) -> int:
        """By how much an integer result may differ."""
        return int(any(node.op_type in STEP_OPERATORS for node in self.model.graph.node))


@functools.cache
def node_tests() -> tuple[NodeTest, ...]:
    """Every node test that the onnx package brings, in the order of names.

    The package computes them anew each time, which takes long; a copy is kept under build/.
    """
    try:
        kept: list[_Kept] = pickle.loads(_KEPT.read_bytes())
    except FileNotFoundError:
        kept = [_Kept(test.name, test.model, test.data_sets) for test in _generated()]
        _KEPT.parent.mkdir(exist_ok=True)
        temporary = _KEPT.with_suffix(f".{os.getpid()}")
        temporary.write_bytes(pickle.dumps(kept))
        temporary.rename(_KEPT)
    functions = {test.name: _operator(test.model) for test in kept if "_expanded" not in test.name}
    return tuple(sorted((_read(test, functions) for test in kept), key=lambda test: test.name))


def _generated() -> list[Any]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        from onnx.backend.test.loader import load_model_tests

        return list(load_model_tests(kind="node"))


def _read(test: _Kept, functions: Mapping[str, str]) -> NodeTest:
    name, model = test.name, test.model
    op = functions.get(_EXPANDED.sub("", name)) or _operator(model)
    excluded = TESTS.get(name, "") or _excluded(model)
    if excluded:
        return NodeTest(name, op, model, (), excluded)
    data_sets = tuple(
        (tuple(map(_array, inputs)), tuple(map(_array, outputs))) for inputs, outputs in test.data_sets
    )
    return _bound(NodeTest(name, op, model, data_sets))


def _array(data: Any) -> Array:
    return np.asarray(numpy_helper.to_array(data) if isinstance(data, TensorProto) else data)


def _operator(model: ModelProto) -> str:
    """The operator that a test is about."""
    nodes = model.graph.node
    if not nodes:
        return "none"
    node = next((node for node in nodes if node.op_type != "Constant"), nodes[0])
    return f"{node.domain}.{node.op_type}" if node.domain else str(node.op_type)


def _excluded(model: ModelProto) -> str:
    for node in _nodes(model.graph):
        if node.domain in DOMAINS:
            return DOMAINS[node.domain]
        if node.op_type in OPERATORS and not node.domain:
            return OPERATORS[node.op_type]
    for info in (*model.graph.input, *model.graph.output):
        if any(dim.HasField("dim_value") and not dim.dim_value for dim in info.type.tensor_type.shape.dim):
            return "tensors without elements: a static program has none"
        kind = info.type.WhichOneof("value")
        if kind in KINDS:
            return KINDS[kind]
        if info.type.tensor_type.elem_type in TYPES:
            return TYPES[info.type.tensor_type.elem_type]
    for number in _types_inside(model.graph):
        if number in TYPES:
            return TYPES[number]
    return ""


def _types_inside(graph: GraphProto) -> Iterator[int]:
    yield from (tensor.data_type for tensor in graph.initializer)
    for node in _nodes(graph):
        for attribute in node.attribute:
            if attribute.type == AttributeProto.TENSOR:
                yield attribute.t.data_type
            elif node.op_type == "Cast" and attribute.name == "to":
                yield attribute.i


def _nodes(graph: GraphProto) -> Iterator[NodeProto]:
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.type == AttributeProto.GRAPH:
                yield from _nodes(attribute.g)


def _bound(test: NodeTest) -> NodeTest:
    """Inputs that operators need at compile time become initializers of the first data set's values."""
    needed = {
        node.input[index]
        for node in _nodes(test.model.graph)
        for index in BOUND.get(node.op_type, ())
        if index < len(node.input)
    }
    names = [info.name for info in test.model.graph.input]
    if "_expanded" in test.name:
        needed |= {names[index] for index in BOUND.get(test.op, ()) if index < len(names)}
    positions = [index for index, name in enumerate(names) if name in needed]
    if not positions or not test.data_sets:
        return test
    model = ModelProto()
    model.CopyFrom(test.model)
    for index in positions:
        model.graph.initializer.append(numpy_helper.from_array(test.data_sets[0][0][index], names[index]))
    data_sets = tuple(
        (tuple(array for index, array in enumerate(inputs) if index not in positions), outputs)
        for inputs, outputs in test.data_sets
    )
    return NodeTest(test.name, test.op, model, data_sets)
