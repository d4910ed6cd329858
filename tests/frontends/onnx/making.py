"""Small ONNX models in the format's own text, and what becomes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import parser

from tinydeploy.errors import Gap
from tinydeploy.frontends import AS_IS, ImportOptions
from tinydeploy.frontends.onnx import load_bytes, survey_bytes
from tinydeploy.ir import Graph
from tinydeploy.ops.interpreter import Interpreter


def model_of(graph: str, *, opset: int = 17, more: str = "", functions: str = "") -> onnx.ModelProto:
    """A model from the text of its graph; ``more`` are further opsets."""
    text = f'<ir_version: 8, opset_import: ["": {opset}{more}]> {graph} {functions}'
    return parser.parse_model(text)


def graph_of(model: onnx.ModelProto, options: ImportOptions = AS_IS) -> Graph:
    return load_bytes(model.SerializeToString(), "net", "net.onnx", options)


def gaps_of(model: onnx.ModelProto, options: ImportOptions = AS_IS) -> tuple[Gap, ...]:
    return survey_bytes(model.SerializeToString(), "net", "net.onnx", options).gaps


def run(graph: Graph, *inputs: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
    return Interpreter(graph).run(inputs)


def ops_of(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes]


def constant(name: str, array: npt.NDArray[Any]) -> onnx.TensorProto:
    return onnx.numpy_helper.from_array(array, name)


def with_initializers(model: onnx.ModelProto, arrays: Mapping[str, npt.NDArray[Any]]) -> onnx.ModelProto:
    for name, array in arrays.items():
        model.graph.initializer.append(constant(name, array))
    return model


FLOATS = np.arange(1, 5, dtype=np.float32).reshape(1, 4)
