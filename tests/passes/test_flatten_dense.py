"""Dense layers on data of other ranks become matrices between views; others stay."""

from __future__ import annotations

import numpy as np
import onnx

from tests.onnx_models import OnnxBuilder
from tests.running_onnx import assert_close, feeds_of, graph_of
from tinydeploy.ops import check
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.passes.flatten_dense import flatten_dense


def model_of(shape: tuple[int, ...]) -> onnx.ModelProto:
    builder = OnnxBuilder()
    product = builder.node("MatMul", builder.input("x", shape), builder.weights(6, 3))
    builder.output(builder.node("Add", product, builder.weights(3)))
    return builder.model()


def test_rank_three() -> None:
    model = model_of((2, 4, 6))
    graph = graph_of(model)
    flat = flatten_dense(graph)
    check.verify(flat)
    (dense,) = (node for node in flat.nodes if node.op == "FullyConnected")
    assert flat.type(dense.outputs[0]).shape == (8, 3)
    assert [node.op for node in flat.nodes].count("Reshape") == 2
    inputs = tuple(np.asarray(feed) for feed in feeds_of(model).values())
    assert_close(Interpreter(graph).run(inputs), Interpreter(flat).run(inputs))


def test_a_matrix_stays() -> None:
    graph = graph_of(model_of((4, 6)))
    assert flatten_dense(graph) is graph
