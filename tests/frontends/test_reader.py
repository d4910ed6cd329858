"""From file to graph: import rules, gaps all at once, and contradictions between operators and tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema  # type: ignore[import-untyped]

from tests.tflite_builder import ModelBuilder, pack
from tinydeploy.errors import ModelError, UnsupportedError
from tinydeploy.frontends.tflite import load_bytes, survey_bytes
from tinydeploy.ir import Graph
from tinydeploy.ops.add import Add
from tinydeploy.ops.average_pool_2d import AveragePool2D
from tinydeploy.ops.conv_2d import Conv2D
from tinydeploy.ops.depthwise_conv_2d import DepthwiseConv2D
from tinydeploy.ops.fully_connected import FullyConnected
from tinydeploy.ops.quantized import Activation
from tinydeploy.ops.reshape import Reshape
from tinydeploy.ops.softmax import Softmax

Change = Callable[[ModelBuilder], Any]


def image(**options: Any) -> ModelBuilder:
    return ModelBuilder().input((1, 5, 4, 2), name="data", **options)


def loaded(builder: ModelBuilder) -> Graph:
    return load_bytes(builder.build(), "m")


@pytest.mark.parametrize(
    ("builder", "attrs"),
    [
        (
            image().conv2d(3, (3, 2), stride=(2, 3), activation="RELU6"),
            Conv2D((2, 3), (1, 1), ((1, 1), (0, 1)), Activation.RELU6),
        ),
        (
            image().conv2d(3, (2, 2), stride=(2, 2), padding="VALID", activation="RELU_N1_TO_1"),
            Conv2D((2, 2), (1, 1), ((0, 0), (0, 0)), Activation.RELU_N1_TO_1),
        ),
        (
            image().depthwise(2, (3, 3), dilation=(2, 1), activation="RELU"),
            DepthwiseConv2D((1, 1), (2, 1), ((2, 2), (1, 1)), Activation.RELU),
        ),
        (image().fully_connected(3, keep_dims=True), FullyConnected(keep_dims=True)),
        (image().fully_connected(3, activation="RELU"), FullyConnected(Activation.RELU)),
        (
            image().average_pool((2, 3), stride=(2, 1), padding="SAME"),
            AveragePool2D((2, 3), (2, 1), ((0, 1), (1, 1))),
        ),
        (image().add(0, activation="RELU6"), Add(Activation.RELU6)),
        (image().reshape((-1, 8)), Reshape((5, 8))),
        (image().reshape((2, -1), given="options"), Reshape((2, 20))),
        (image().reshape((40,), given="nowhere"), Reshape((40,))),
        (image().softmax(beta=0.5), Softmax(0.5)),
    ],
)
def test_attributes(builder: ModelBuilder, attrs: object) -> None:
    (node,) = loaded(builder).nodes
    assert node.attrs == attrs


def test_odd_padding_of_stride_2_goes_after() -> None:
    (node,) = loaded(ModelBuilder().input((1, 4, 4, 1)).conv2d(1, (3, 3), stride=(2, 2))).nodes
    assert isinstance(node.attrs, Conv2D)
    assert node.attrs.padding == ((0, 1), (0, 1))


def test_absent_operands_and_names() -> None:
    builder = image().conv2d(3, bias=False, name="layer").softmax(name="")
    graph = loaded(builder)
    assert [node.name for node in graph.nodes] == ["layer", "SOFTMAX#1"]
    assert graph.nodes[0].inputs == (0, 1)
    builder.operators[0].inputs.append(-1)
    assert loaded(builder).nodes[0].inputs == (0, 1, None)


def test_options_may_be_absent_where_the_defaults_are_plain() -> None:
    for builder in (image().add(0), image().fully_connected(3)):
        builder.operators[0].builtinOptions = None
        builder.operators[0].builtinOptionsType = 0
        assert len(loaded(builder).nodes) == 1


@pytest.mark.parametrize("stored", [1, 0, -1])
def test_an_unknown_batch_is_1(stored: int) -> None:
    builder = image(signature=(-1, 5, 4, 2)).conv2d(3).reshape((1, 60)).softmax()
    for index in (0, builder.current):
        builder.tensors[index].shape[0] = stored
    graph = loaded(builder)
    assert graph.type(graph.inputs[0]).shape == (1, 5, 4, 2)
    assert graph.type(graph.outputs[0]).shape == (1, 60)


def test_several_inputs_and_outputs_keep_the_order_of_the_file() -> None:
    builder = ModelBuilder().input((1, 4), name="b").input((1, 4), name="a")
    builder.add(0, name="sum").output().softmax(name="soft").output()
    builder.inputs.reverse()
    builder.outputs.reverse()
    graph = loaded(builder)
    assert [graph.values[value].name for value in graph.inputs] == ["a", "b"]
    assert [graph.values[value].name for value in graph.outputs] == ["soft", "sum"]


def test_names_may_repeat_and_a_model_may_do_nothing() -> None:
    graph = loaded(ModelBuilder().input((1, 4), name="x").softmax(name="x").softmax(name="x"))
    assert {value.name for value in graph.values} == {"x"}
    swapped = ModelBuilder().input((1, 4), name="a").input((1, 3), name="b")
    swapped.outputs = [1, 0]
    assert loaded(swapped).outputs == (1, 0)


def test_survey_counts_operators_and_keeps_the_graph() -> None:
    survey = survey_bytes(image().conv2d(3).conv2d(2).softmax().build(), "m")
    assert survey.operators == (("CONV_2D", 2), ("SOFTMAX", 1))
    assert (survey.format, survey.name, survey.gaps) == ("tflite", "m", ())
    assert survey.graph is not None


# Gaps


def options_of(builder: ModelBuilder, **fields: object) -> None:
    for name, value in fields.items():
        setattr(builder.operators[0].builtinOptions, name, value)


def tensor_of(builder: ModelBuilder, index: int, **fields: object) -> ModelBuilder:
    for name, value in fields.items():
        setattr(builder.tensors[index], name, value)
    return builder


def custom_quantization() -> ModelBuilder:
    builder = image().softmax()
    quantization = builder.tensors[0].quantization
    quantization.detailsType = schema.QuantizationDetails.CustomQuantization
    quantization.details = schema.CustomQuantizationT(custom=[1, 2])
    return builder


@pytest.mark.parametrize(
    ("builder", "node", "op", "reason"),
    [
        (image().conv2d(3, activation="TANH", name="n"), "n", "CONV_2D",
         "the fused activation TANH is not supported"),
        (image().add(0, activation="SIGN_BIT", name="n"), "n", "ADD",
         "the fused activation SIGN_BIT is not supported"),
        (image().operator("WHILE", [0], [0]), "data", "WHILE", "the operator is not supported"),
        (image().operator("RFFT2D", [0], [0]), "data", "RFFT2D", "the operator is not supported"),
        (image().operator("CUSTOM", [0], [0], custom="a b"), "data", "CUSTOM 'a b'",
         "the operator is not supported"),
        (image().operator("CUSTOM", [0], [0], custom="CONV_2D"), "data", "CUSTOM 'CONV_2D'",
         "the operator is not supported"),
        (image(dtype="int32").softmax(name="n"), "n", "SOFTMAX",
         ("needed: data are int8 or int16, the result too; int8 data may have an int16 result; "
          "got int32[1, 5, 4, 2] per tensor, int8[1, 5, 4, 2] per tensor")),
        (tensor_of(image().softmax(), 0, type=10), "data", "INPUT",
         "tensor 0 'data' has the element type FLOAT64"),
        (image(signature=(1, -1, -1, 2)).softmax(), "data", "INPUT",
         "tensor 0 'data' has an extent that is known at run time only (dimension 1, 2)"),
        (tensor_of(image().softmax(), 0, shape=[1, 0, 4, 2]), "data", "INPUT",
         "tensor 0 'data' has no elements"),
        (tensor_of(image().conv2d(3, name="n"), 1, sparsity=schema.SparsityParametersT()), "n", "CONV_2D",
         "tensor 1 'tensor_1' is sparse"),
        (custom_quantization(), "data", "INPUT", "tensor 0 'data' has a custom quantization"),
    ],
)  # fmt: skip
def test_gaps(builder: ModelBuilder, node: str, op: str, reason: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        loaded(builder)
    gap = caught.value.gaps[0]
    assert (gap.node, gap.op, gap.reason) == (node, op, reason)
    assert gap.remedy
    assert str(caught.value).startswith("m: ")
    assert f"{node} ({op}): {reason}; {gap.remedy}" in str(caught.value)


def test_shuffled_weights_are_a_gap_whatever_the_operands() -> None:
    builder = image().fully_connected(3)
    options_of(builder, weightsFormat=1)
    builder.operators[0].outputs.append(builder.tensor((1, 8)))
    with pytest.raises(UnsupportedError, match="shuffled weights are not supported"):
        loaded(builder)


def test_a_shape_computed_at_run_time_is_a_gap() -> None:
    builder = image().reshape((5, 8))
    builder.input((2,), dtype="int32", scale=None)
    builder.operators[0].inputs[1] = builder.current
    builder.outputs = [2]
    with pytest.raises(UnsupportedError, match="the new shape is computed when the model runs"):
        loaded(builder)


def test_all_gaps_come_at_once_and_each_once() -> None:
    builder = image(signature=(1, -1, 4, 2)).conv2d(3, activation="TANH", name="first")
    builder.operator("RFFT2D", [builder.current], [builder.tensor((1, 5, 4, 3), name="second")])
    builder.softmax(name="third")
    builder.operator("CUSTOM", [builder.current], [builder.tensor((1, 5, 4, 3), name="4th")], custom="X")
    builder.tensors[3].type = 10
    survey = survey_bytes(builder.build(), "m")
    assert survey.graph is None
    assert [(gap.node, gap.op) for gap in survey.gaps] == [
        ("data", "INPUT"),
        ("first", "CONV_2D"),
        ("second", "RFFT2D"),
        ("4th", "CUSTOM 'X'"),
    ]
    with pytest.raises(UnsupportedError, match="m: 4 nodes are not supported"):
        loaded(builder)


# Contradictions


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: broken_options(image().conv2d(3), strideH=0), "stride [0, 1]; at least 1 is needed"),
        (lambda: broken_options(image().conv2d(3), dilationWFactor=-1), "dilation [1, -1]; at least 1"),
        (lambda: broken_options(image().average_pool((2, 2)), filterHeight=0), "window [0, 2]; at least 1"),
        (lambda: broken_options(image().conv2d(3), padding=9), "padding 9 is neither SAME (0) nor VALID (1)"),
        (
            lambda: broken_options(image().conv2d(3), fusedActivationFunction=9),
            "fused activation 9 is not one of TFLite",
        ),
        (
            lambda: broken_options(image().depthwise(2), depthMultiplier=3),
            "depth multiplier 3, but 4 channels from 2",
        ),
        (lambda: broken_options(image().softmax(), beta=0.0), "beta is 0.0; a positive number is needed"),
        (lambda: broken_options(image().softmax(), beta=float("nan")), "beta is nan; a positive number"),
        (lambda: without_options(image().conv2d(3)), "Conv2DOptions are missing"),
        (lambda: without_options(image().softmax()), "SoftmaxOptions are missing"),
        (
            lambda: other_options(image().conv2d(3)),
            "options of kind 9; Conv2DOptions is kind 1",
        ),
        (lambda: operands(image().conv2d(3), [0], None), "1 inputs; it takes 2 to 3"),
        (lambda: operands(image().conv2d(3), [0, -1, 2], None), "2 inputs; it takes 2 to 3"),
        (lambda: operands(image().softmax(), [0, 0], None), "2 inputs; it takes 1"),
        (lambda: operands(image().softmax(), [0], [1, 1]), "2 outputs; it has 1"),
        (lambda: operands(image().softmax(), [0], []), "0 outputs; it has 1"),
        (lambda: tensor_of(image().conv2d(3), 0, shape=[5, 4, 2]), "the data have shape [5, 4, 2]; 4 dim"),
        (lambda: tensor_of(image().conv2d(3), 1, shape=[3, 18]), "the weights have shape [3, 18]; 4 dim"),
        (lambda: reshaped((-1, -1, 5)), "the new shape [-1, -1, 5] has unknown extents; one -1 is"),
        (lambda: reshaped((7, -1)), "the new shape [7, -1] cannot hold 40 elements"),
        (lambda: reshaped((1,) * 9), "the new shape has 9 dimensions; 8 are allowed"),
        (lambda: float_shape(), "the new shape is FLOAT32[2], not a list of int32"),
        (
            lambda: tensor_of(image().conv2d(3), 3, shape=[1, 5, 4, 4]),
            "node 'tensor_3' (Conv2D): outputs are int8[1, 5, 4, 4], the inputs imply int8[1, 5, 4, 3]",
        ),
    ],
)
def test_operators_that_contradict_themselves(build: Callable[[], ModelBuilder], words: str) -> None:
    with pytest.raises(ModelError) as caught:
        loaded(build())
    assert words in str(caught.value)


def broken_options(builder: ModelBuilder, **fields: object) -> ModelBuilder:
    options_of(builder, **fields)
    return builder


def without_options(builder: ModelBuilder) -> ModelBuilder:
    builder.operators[0].builtinOptions = None
    builder.operators[0].builtinOptionsType = 0
    return builder


def other_options(builder: ModelBuilder) -> ModelBuilder:
    builder.operators[0].builtinOptions = schema.SoftmaxOptionsT(beta=1.0)
    builder.operators[0].builtinOptionsType = schema.BuiltinOptions.SoftmaxOptions
    return builder


def operands(builder: ModelBuilder, inputs: list[int], outputs: list[int] | None) -> ModelBuilder:
    builder.operators[0].inputs = inputs
    if outputs is not None:
        builder.operators[0].outputs = outputs
    return builder


def reshaped(shape: tuple[int, ...]) -> ModelBuilder:
    builder = image().reshape((5, 8))
    builder.tensors[2].shape = [len(shape)]
    builder.model.buffers[1].data = np.frombuffer(np.array(shape, np.int32).tobytes(), np.uint8)
    return builder


def float_shape() -> ModelBuilder:
    builder = image().reshape((5, 8))
    builder.tensors[2].type = schema.TensorType.FLOAT32
    return builder


def test_values_are_made_once_and_before_their_use() -> None:
    builder = image().softmax(name="a").softmax(name="b")
    builder.operators.reverse()
    with pytest.raises(ModelError, match="m: tensor 1 'a': it is read before anything has made it"):
        loaded(builder)
    builder = image().softmax(name="a")
    builder.operators *= 2
    with pytest.raises(ModelError, match="tensor 1 'a': it is made by 'a' and already has a value"):
        loaded(builder)
    builder = image().softmax()
    builder.inputs = [0, 0]
    with pytest.raises(ModelError, match="tensor 0 'data': it is an input twice"):
        loaded(builder)
    builder = image().conv2d(3)
    builder.inputs = [0, 1]
    with pytest.raises(ModelError, match="tensor 1 'tensor_1': it is an input and a constant"):
        loaded(builder)


def test_a_model_without_outputs() -> None:
    builder = image().softmax()
    builder.build()
    builder.outputs = []
    builder.current = -1
    builder.model.subgraphs[0].outputs = []
    with pytest.raises(ModelError, match="m: the model has no outputs"):
        load_bytes(pack(builder.model), "m")
