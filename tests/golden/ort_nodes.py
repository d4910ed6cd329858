"""onnxruntime as the judge of single nodes: each of ours gets the integers that onnxruntime computed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import onnx
import onnxruntime

from tinydeploy.frontends.onnx import load_bytes
from tinydeploy.ir import Array, Graph, TensorType
from tinydeploy.ops import OPS, site_of
from tinydeploy.passes.integerize import integerize
from tinydeploy.passes.integerize.signed import SIGNED

Feeds = dict[str, Array]


def session_of(model: onnx.ModelProto) -> onnxruntime.InferenceSession:
    """onnxruntime without optimizations."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )


def every_value(model: onnx.ModelProto, feeds: Feeds) -> dict[str, Array]:
    """What onnxruntime computes for every name of a model's main graph."""
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    known = {output.name for output in whole.graph.output}
    names = [name for node in whole.graph.node for name in node.output if name and name not in known]
    whole.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    session = session_of(whole)
    wanted = [output.name for output in session.get_outputs()]
    return {**feeds, **dict(zip(wanted, session.run(wanted, feeds), strict=True))}


@dataclass(frozen=True)
class Compared:
    """How many integer values had a counterpart, and the largest difference of one in steps, and where."""

    values: int
    worst: int
    where: str


def _as_held(array: Array, type_: TensorType) -> Array | None:
    """onnxruntime's array as the graph holds it; None where it is another value of the same name."""
    if array.shape != type_.shape:
        return None
    if array.dtype == type_.dtype.numpy:
        return array
    for unsigned, dtype in SIGNED.items():
        if array.dtype == unsigned.numpy and dtype is type_.dtype:
            return (array.astype(np.int64) - (1 << (unsigned.bits - 1))).astype(dtype.numpy)
    return None


def compare_nodes(graph: Graph, values: dict[str, Array]) -> Compared:
    """Run an integer graph; each integer value is compared, then replaced by onnxruntime's own."""
    arrays = {value: graph.array(value) for value in graph.constants()}
    for value in graph.inputs:
        arrays[value] = values[graph.values[value].name]
    count, worst, where = 0, 0, "nothing"
    for index, node in enumerate(graph.nodes):
        operands = tuple(None if value is None else arrays[value] for value in node.inputs)
        results = OPS[node.op].reference(site_of(graph, index), operands)
        for value, result in zip(node.outputs, results, strict=True):
            arrays[value] = result
            name, type_ = graph.values[value].name, graph.type(value)
            theirs = _as_held(values[name], type_) if name in values and type_.dtype.is_integer else None
            if theirs is None:
                continue
            difference = int(np.abs(theirs.astype(np.int64) - result.astype(np.int64)).max())
            count += 1
            if difference > worst:
                worst, where = difference, f"{node.op} {name}"
            arrays[value] = theirs
    return Compared(count, worst, where)


def integer_graph(model: onnx.ModelProto) -> Graph:
    """The model after import and ``integerize``, in its own layout."""
    return integerize(load_bytes(model.SerializeToString(), "model"))


def assert_close(model: onnx.ModelProto, feeds: Sequence[Feeds], steps: int = 1) -> Compared:
    """No node of a model is further than ``steps`` from onnxruntime on any of the inputs."""
    graph = integer_graph(model)
    found = [compare_nodes(graph, every_value(model, one)) for one in feeds]
    worst = max(found, key=lambda one: one.worst)
    assert worst.values > 0, "no value has a counterpart"
    assert worst.worst <= steps, f"{worst.worst} steps at {worst.where}"
    return worst
