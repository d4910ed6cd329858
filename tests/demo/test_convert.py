"""Quantization rules and the model file, against the reference and against tflite-micro."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from tests.demo.oracle import TfliteMicro
from tinydeploy.demo.convert import convert, input_steps, int8_accuracy, macs_of
from tinydeploy.demo.network import Network
from tinydeploy.demo.tflite_file import BUFFER_ALIGNMENT, to_tflite
from tinydeploy.ir import DType, Graph, Node, Quant, Rewriter, TensorType
from tinydeploy.ops.add import Add
from tinydeploy.ops.base import site_of
from tinydeploy.ops.check import gaps
from tinydeploy.ops.conv_2d import Conv2D
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.ops.quantized import Activation

IMAGES = np.random.Generator(np.random.PCG64(9)).random((6, 8, 8, 1))


@pytest.fixture(scope="module")
def graph() -> Graph:
    """An untrained network, quantized."""
    return convert(Network(1), IMAGES, "untrained")


def test_the_graph_is_supported_and_has_the_networks_cost(graph: Graph) -> None:
    assert [node.op for node in graph.nodes] == [
        "Conv2D",
        "DepthwiseConv2D",
        "Conv2D",
        "DepthwiseConv2D",
        "Conv2D",
        "AveragePool2D",
        "Reshape",
        "FullyConnected",
        "Softmax",
    ]
    assert not [gap for index in range(len(graph.nodes)) for gap in gaps(site_of(graph, index))]
    first, last = graph.type(graph.nodes[0].outputs[0]), graph.type(graph.nodes[7].inputs[1] or 0)
    assert macs_of(graph) > 9 * first.elements + last.elements


def test_the_file_runs_on_tflite_micro_with_our_bits(graph: Graph) -> None:
    oracle = TfliteMicro(to_tflite(graph, "test"))
    interpreter = Interpreter(graph)
    for image in input_steps(graph, IMAGES):
        arrays = interpreter.run_all((image[None],))
        oracle.run(image[None])
        for value, array in arrays.items():
            name = graph.values[value].name
            np.testing.assert_array_equal(oracle.tensor(name), array, err_msg=name)


def test_accuracy_counts_the_labels_that_win(graph: Graph) -> None:
    inputs = input_steps(graph, IMAGES)
    interpreter = Interpreter(graph)
    labels = np.array([interpreter.run((image[None],))[0].argmax() for image in inputs])
    assert int8_accuracy(graph, inputs, labels) == 1.0
    labels[:3] = (labels[:3] + 1) % 10
    assert int8_accuracy(graph, inputs, labels) == 0.5


def test_constants_lie_aligned_in_the_file(graph: Graph) -> None:
    model = to_tflite(graph, "test")
    for value in graph.constants():
        data = graph.array(value)
        if data.any():  # the untrained biases are zeros, which a search finds anywhere
            place = model.find(data.tobytes())
            assert place > 0
            assert place % BUFFER_ALIGNMENT == 0, graph.values[value].name


def one_node(attrs: Conv2D | Add, dtype: DType = DType.INT8) -> Graph:
    type_ = TensorType(dtype, (1, 4, 4, 1), Quant((1.0,), (0,)))
    rewriter = Rewriter.empty("one")
    data = rewriter.input("in", type_)
    kernel = np.ones((1, 3, 3, 1), np.int8)
    weights = rewriter.constant("w", TensorType(DType.INT8, kernel.shape, Quant((1.0,), (0,))), kernel)
    (out,) = rewriter.node("n", attrs, (data, weights), (("out", type_),))
    rewriter.output(out)
    return rewriter.freeze()


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (one_node(Add()), "'n': Add is not written"),
        (one_node(Conv2D(padding=((2, 0), (1, 1)))), r"padding \(\(2, 0\), \(1, 1\)\) is neither SAME nor"),
        (one_node(Conv2D(activation=Activation.RELU6)), "the clamp relu6 is not written"),
        (one_node(Conv2D(), DType.INT16), "'in': int16 is not written"),
    ],
    ids=["operator", "padding", "clamp", "type"],
)
def test_what_the_writer_does_not_know_is_refused(graph: Graph, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        to_tflite(graph, "test")


def test_an_absent_operand_is_refused(graph: Graph) -> None:
    node = graph.nodes[0]
    broken = Node(node.name, node.attrs, (None, *node.inputs[1:]), node.outputs)
    with pytest.raises(ValueError, match="'conv1': input 0 is absent"):
        to_tflite(dataclasses.replace(graph, nodes=(broken, *graph.nodes[1:])), "test")


def test_float_graphs_have_no_input_steps() -> None:
    rewriter = Rewriter.empty("float")
    rewriter.output(rewriter.input("in", TensorType(DType.FLOAT32, (1, 8, 8, 1))))
    with pytest.raises(ValueError, match="the graph's input is not quantized"):
        input_steps(rewriter.freeze(), IMAGES)
