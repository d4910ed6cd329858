"""Structural invariants of a graph, checked before and after every pass."""

from __future__ import annotations

import math
from collections.abc import Iterable

from tinydeploy.errors import GraphError
from tinydeploy.ir.graph import Graph, Value
from tinydeploy.ir.types import DType, TensorType


def verify(graph: Graph) -> None:
    """Raise GraphError at the first broken invariant.

    Every id is in range; every value is defined once (input, constant, state or node output) and before its
    first use; shapes are positive; quantization fits its type; the data of constants is present.
    """
    _check_ids(graph)
    defined: set[int] = set()
    _define(graph, defined, graph.inputs, "as an input")
    _define(graph, defined, graph.constants(), "as a constant")
    _define(graph, defined, (state.before for state in graph.states), "as a state")
    for node in graph.nodes:
        for value in node.inputs:
            if value is not None and value not in defined:
                raise GraphError(f"%{value} is used before it is defined", where=f"node {node.name!r}")
        _define(graph, defined, node.outputs, f"by node {node.name!r}")
    if missing := set(range(len(graph.values))) - defined:
        raise GraphError(f"%{min(missing)} is never defined", where=f"graph {graph.name!r}")
    for index, checked in enumerate(graph.values):
        _check_value(graph, index, checked)
    for state in graph.states:
        if graph.type(state.before) != graph.type(state.after):
            raise GraphError(f"state %{state.before} and its next value %{state.after} differ in type")
        graph.blobs.array(state.initial, graph.type(state.before))
    for subgraph in graph.subgraphs:
        verify(subgraph)


def _check_ids(graph: Graph) -> None:
    used = [*graph.inputs, *graph.outputs]
    used += [value for state in graph.states for value in (state.before, state.after)]
    for node in graph.nodes:
        used += [value for value in node.inputs if value is not None]
        used += node.outputs
    for value in used:
        if not 0 <= value < len(graph.values):
            raise GraphError(
                f"%{value} does not exist; there are {len(graph.values)} values",
                where=f"graph {graph.name!r}",
            )


def _define(graph: Graph, defined: set[int], values: Iterable[int], how: str) -> None:
    for value in values:
        if value in defined:
            raise GraphError(f"%{value} is defined again {how}", where=f"graph {graph.name!r}")
        defined.add(value)


def _check_value(graph: Graph, index: int, value: Value) -> None:
    where = f"%{index} {value.name!r}"
    if any(extent <= 0 for extent in value.type.shape):
        raise GraphError(f"shape {value.type.shape} has an extent below 1", where=where)
    check_quant(value.type, where)
    if value.digest is not None:
        graph.blobs.array(value.digest, value.type)


def check_quant(type_: TensorType, where: str) -> None:
    """Raise GraphError where the quantization of a type contradicts it."""
    quant = type_.quant
    if quant is None:
        return
    if type_.dtype is DType.FLOAT32 or type_.dtype is DType.BOOL:
        raise GraphError(f"{type_.dtype.value} cannot be quantized", where=where)
    if len(quant.scales) != len(quant.zero_points):
        raise GraphError(f"{len(quant.scales)} scales but {len(quant.zero_points)} zero points", where=where)
    if quant.axis is None:
        expected = 1
    elif 0 <= quant.axis < len(type_.shape):
        expected = type_.shape[quant.axis]
    else:
        raise GraphError(f"quantized axis {quant.axis} of a shape {type_.shape}", where=where)
    if len(quant.scales) != expected:
        raise GraphError(f"{len(quant.scales)} scales, the shape needs {expected}", where=where)
    for scale in quant.scales:
        if not (math.isfinite(scale) and scale > 0.0):
            raise GraphError(f"scale {scale!r} is not a positive number", where=where)
    low, high = type_.dtype.limits
    for zero_point in quant.zero_points:
        if not low <= zero_point <= high:
            raise GraphError(f"zero point {zero_point} is outside {low} to {high}", where=where)
