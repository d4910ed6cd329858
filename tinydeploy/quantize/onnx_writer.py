"""Writes a graph with Quantize and Dequantize nodes as an ONNX file that onnxruntime runs.

Images keep the channels-first order of ONNX between the operators that need it, so that no transposes stand
inside; our importer turns the file back into the graph that it was made from.
"""

from __future__ import annotations

from pathlib import Path

import onnx
from onnx import helper

from tinydeploy.errors import Gap, TinyDeployError, UnsupportedError
from tinydeploy.ir import DType, Graph
from tinydeploy.quantize.onnx_ops import OPERATORS
from tinydeploy.quantize.onnx_values import ELEMENTS, Values, same
from tinydeploy.staging import staged

OPSET = 17
"""What every runtime of the last years reads; later operators raise it."""
_OPSET_16_BIT = 21
_OPSET_GELU = 20
_IR_VERSION = {OPSET: 8, _OPSET_GELU: 9, _OPSET_16_BIT: 10}


def to_onnx(graph: Graph) -> onnx.ModelProto:
    """The model of a graph.

    Raises UnsupportedError with every node that has no form in ONNX or none here.
    """
    if graph.states:
        raise TinyDeployError(
            "state variables have no form in ONNX",
            where=graph.name,
            fix="Make the state an input and an output of the model",
        )
    values = Values(graph)
    inputs = [
        helper.make_tensor_value_info(
            values.define(value, same(values.rank(value))),
            ELEMENTS[graph.type(value).dtype],
            graph.type(value).shape,
        )
        for value in graph.inputs
    ]
    gaps: list[Gap] = []
    for node in graph.nodes:
        write = OPERATORS.get(node.op)
        try:
            if write is None:
                raise ValueError(f"{node.op} is not written")
            write(values, node)
        except ValueError as error:
            reason = str(error).removeprefix(f"{node.name!r}: ")
            gaps.append(Gap(node.name, node.op, reason, "leave the model in its own format"))
            for value in node.outputs:
                values.define(value, same(values.rank(value)))
    if gaps:
        raise UnsupportedError(tuple(gaps), where=f"{graph.name} as ONNX")
    outputs = [_output(values, value) for value in graph.outputs]
    opset = _opset(graph, values)
    made = helper.make_graph(values.nodes, graph.name or "model", inputs, outputs, values.initializers)
    model = helper.make_model(
        made,
        opset_imports=[helper.make_opsetid("", opset)],
        producer_name="tinydeploy",
        ir_version=_IR_VERSION[opset],
    )
    onnx.checker.check_model(model, full_check=True)
    return model


def _output(values: Values, value: int) -> onnx.ValueInfoProto:
    graph = values.graph
    name = values.output(value)
    return helper.make_tensor_value_info(name, ELEMENTS[graph.type(value).dtype], graph.type(value).shape)


def _opset(graph: Graph, values: Values) -> int:
    if any(value.type.dtype in (DType.INT16, DType.UINT16, DType.INT4) for value in graph.values):
        return _OPSET_16_BIT
    return _OPSET_GELU if any(node.op_type == "Gelu" for node in values.nodes) else OPSET


def write_onnx(graph: Graph, path: Path) -> None:
    """Write the model of a graph, complete or not at all.

    Raises UnsupportedError as ``to_onnx`` and TinyDeployError where the file cannot be written.
    """
    data = to_onnx(graph).SerializeToString(deterministic=True)
    with staged(path.parent) as work:
        (work / path.name).write_bytes(data)
