"""ONNX models through our line on this machine, beside onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime

from tinydeploy.build import compile_graph
from tinydeploy.emulate.host import build_host
from tinydeploy.frontends.onnx import load_bytes
from tinydeploy.ir import Array, Graph
from tinydeploy.kernels.targets import target_of
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.toolchain import HOST, select

Arrays = tuple[Array, ...]
RELATIVE = 1e-5


def graph_of(model: onnx.ModelProto, name: str = "model") -> Graph:
    """The imported graph of a model."""
    return load_bytes(model.SerializeToString(), name)


def feeds_of(model: onnx.ModelProto, seed: int = 0) -> dict[str, npt.NDArray[np.float32]]:
    """Normal numbers for every input, all of them float32 of known shape."""
    generator = np.random.default_rng(seed)
    return {
        item.name: generator.standard_normal([d.dim_value for d in item.type.tensor_type.shape.dim]).astype(
            np.float32
        )
        for item in model.graph.input
    }


def onnxruntime_outputs(model: onnx.ModelProto, feeds: dict[str, Any]) -> Arrays:
    """What onnxruntime computes, without its optimizations."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return tuple(session.run(None, feeds))


def c_outputs(graph: Graph, inputs: Arrays, folder: Path, toolchain: str = "gcc") -> Arrays:
    """What our C computes, under ASan and UBSan with gcc."""
    compiled = compile_graph(graph, target_of("host"), name="model")
    compiler = select(toolchain, HOST, sanitize=toolchain == "gcc")
    program = build_host(compiled, folder, compiler, optimize="-O1")
    (answer,) = program.run([inputs])
    return answer.outputs


def assert_close(expected: Arrays, got: Arrays, relative: float = RELATIVE) -> None:
    """Every array within ``relative`` of the largest magnitude that was expected."""
    assert [array.shape for array in expected] == [array.shape for array in got]
    for index, (wanted, found) in enumerate(zip(expected, got, strict=True)):
        distance = np.abs(found.astype(np.float64) - wanted).max() / np.abs(wanted).max()
        assert distance <= relative, f"output {index} is {distance:.1e} away"


def assert_like_onnxruntime(model: onnx.ModelProto, folder: Path, seed: int = 0) -> None:
    """Our reference and our C equal onnxruntime within the tolerance."""
    feeds = feeds_of(model, seed)
    expected = onnxruntime_outputs(model, feeds)
    graph, inputs = graph_of(model), tuple(feeds.values())
    assert_close(expected, Interpreter(graph).run(inputs))
    assert_close(expected, c_outputs(graph, inputs, folder))
