"""Which graphs ``integerize`` makes integer, and what it leaves as it is."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from tests.golden.ort_nodes import assert_close, every_value, integer_graph
from tests.golden.qdq_models import QdqBuilder
from tests.tflite_builder import ModelBuilder
from tinydeploy.frontends.onnx import load_bytes
from tinydeploy.frontends.tflite import load_bytes as load_tflite
from tinydeploy.ir import DType, Graph
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.passes import integerize


def ops_of(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes]


def float_output(builder: QdqBuilder, value: str) -> None:
    builder.outputs.append(helper.make_tensor_value_info(value, TensorProto.FLOAT, None))


def test_graphs_of_other_formats_stay_the_same_object() -> None:
    graph = load_tflite(ModelBuilder().input((1, 4, 4, 3), zero_point=3).conv2d(2, (3, 3)).build(), "m")
    assert integerize(graph) is graph


def test_a_float_model_stays_the_same_object() -> None:
    builder = QdqBuilder()
    builder.inputs.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4]))
    float_output(builder, builder.node("Relu", "x"))
    graph = load_bytes(builder.model().SerializeToString(), "m")
    assert integerize(graph) is graph


def test_one_dequantized_value_serves_several_operators() -> None:
    builder = QdqBuilder()
    x = builder.input((2, 6))
    builder.output(builder.node("Add", x, builder.node("Relu", x)), 0.09, 0)
    builder.output(builder.node("Mul", x, x), 0.2, -9)
    builder.output(builder.node("MatMul", x, builder.weights(6, 3)), 0.1, 1)
    assert ops_of(integer_graph(builder.model())) == ["Lookup", "Lookup", "FullyConnected"]
    assert_close(builder.model(), builder.samples(3))


def test_a_value_in_two_scales_is_computed_once_and_rescaled() -> None:
    builder = QdqBuilder()
    x = builder.input((2, 6))
    builder.output(builder.between(builder.between(x, 0.05, 3), 0.05, 3), 0.05, 3)
    builder.output(builder.between(x, 0.11, 0), 0.05, 3)
    assert ops_of(integer_graph(builder.model())) == ["Lookup", "Lookup"]
    assert_close(builder.model(), builder.samples(2))


def test_an_operator_whose_result_is_read_in_float_stays_float() -> None:
    builder = QdqBuilder()
    y = builder.node("MatMul", builder.input((2, 6)), builder.weights(6, 3))
    builder.output(y, 0.1, 1)
    float_output(builder, y)
    assert ops_of(integer_graph(builder.model())) == [
        "Dequantize",
        "Dequantize",
        "Transpose",
        "FullyConnected",
        "Quantize",
    ]


def test_different_readers_of_one_sum_leave_it_float() -> None:
    builder = QdqBuilder()
    y = builder.node("Add", builder.input((2, 6)), builder.input((2, 6)))
    builder.output(builder.node("Relu", y), 0.1, 1)
    builder.output(y, 0.1, 1)
    assert "Add" in ops_of(integer_graph(builder.model()))
    graph = integer_graph(builder.model())
    (add,) = [node for node in graph.nodes if node.op == "Add"]
    assert graph.type(add.outputs[0]).dtype is DType.FLOAT32


def test_a_result_in_float_is_dequantized_at_the_edge() -> None:
    builder = QdqBuilder()
    x = builder.input((1, 2, 4, 4))
    float_output(builder, builder.node("Flatten", builder.node("MaxPool", x, kernel_shape=[2, 2])))
    graph = integer_graph(builder.model())
    assert [op for op in ops_of(graph) if op not in ("Reshape", "Transpose")] == ["MaxPool2D", "Dequantize"]
    assert ops_of(graph)[-1] == "Dequantize"
    (feeds,) = builder.samples(1)
    wanted = every_value(builder.model(), feeds)[builder.outputs[0].name]
    np.testing.assert_array_equal(Interpreter(graph).run((feeds["in0"],))[0], wanted)


def test_softmax_at_the_output_stays_float() -> None:
    builder = QdqBuilder()
    float_output(builder, builder.node("Softmax", builder.input((1, 5))))
    graph = load_bytes(builder.model().SerializeToString(), "m")
    assert ops_of(integerize(graph)) == ["Dequantize", "Softmax"]


def test_relu_on_the_grid_needs_no_scale_of_its_own() -> None:
    builder = QdqBuilder()
    x = builder.node("Relu", builder.input((2, 6)))
    builder.output(builder.node("MatMul", x, builder.weights(6, 3)), 0.1, 1)
    assert ops_of(integer_graph(builder.model())) == ["Lookup", "FullyConnected"]
    assert_close(builder.model(), builder.samples(2))


@pytest.mark.parametrize("function", ["Exp", "Gelu", "HardSwish", "Mish", "Softplus"])
def test_functions_of_one_element_become_tables(function: str) -> None:
    builder = QdqBuilder(dtype="uint8")
    x = builder.input((2, 6))
    builder.output(builder.node(function, builder.node("Div", x, builder.number(1.5))), 0.1, -90)
    graph = integer_graph(builder.model())
    assert [op for op in ops_of(graph) if op != "Requantize"] == ["Lookup"]
    assert_close(builder.model(), builder.samples(2))


def test_unsigned_steps_stay_at_the_interface_alone() -> None:
    builder = QdqBuilder(dtype="uint8")
    builder.output(builder.node("Add", builder.input((2, 3)), builder.input((2, 3))), 0.1, 1)
    graph = integer_graph(builder.model())
    assert ops_of(graph) == ["Requantize", "Requantize", "Add", "Requantize"]
    unsigned = {index for index, value in enumerate(graph.values) if value.type.dtype is DType.UINT8}
    assert unsigned == {*graph.inputs, *graph.outputs}
    assert all(graph.type(value).quant is not None for value in unsigned)


def test_plain_integers_keep_their_meaning_beside_steps() -> None:
    """An output of the steps themselves, and arithmetic on them as numbers."""
    builder = QdqBuilder(dtype="uint8")
    steps = builder.quantize(builder.node("Relu", builder.input((2, 3))), 0.1, 1)
    builder.outputs.append(helper.make_tensor_value_info(steps, TensorProto.UINT8, None))
    doubled = builder.node("Add", steps, steps)
    builder.outputs.append(helper.make_tensor_value_info(doubled, TensorProto.UINT8, None))
    graph = integer_graph(builder.model())
    (feeds,) = builder.samples(1)
    wanted = every_value(builder.model(), feeds)
    for result, output in zip(Interpreter(graph).run((feeds["in0"],)), builder.outputs, strict=True):
        np.testing.assert_array_equal(result, wanted[output.name])


def test_moves_of_plain_integers_are_moves_of_steps() -> None:
    builder = QdqBuilder(dtype="uint8")
    builder.inputs.append(helper.make_tensor_value_info("steps", TensorProto.UINT8, [1, 2, 4, 4]))
    builder.feeds["steps"] = (1, 2, 4, 4)
    pooled = builder.node("MaxPool", "steps", kernel_shape=[2, 2])
    turned = builder.node("Transpose", pooled, perm=[0, 2, 3, 1])
    builder.output(builder.node("Relu", builder.dequantize(turned, 0.1, 0)), 0.1, 0)
    assert "Dequantize" not in ops_of(integer_graph(builder.model()))
    assert_close(builder.model(), builder.samples(2))


def test_weights_so_fine_that_the_bias_would_leave_32_bits() -> None:
    builder = QdqBuilder()
    x = builder.input((2, 6))
    builder.output(builder.node("Gemm", x, builder.weights(6, 3, spread=1e-12), builder.real(3)), 0.1, 1)
    assert ops_of(integer_graph(builder.model())) == ["FullyConnected"]
    assert_close(builder.model(), builder.samples(2))
