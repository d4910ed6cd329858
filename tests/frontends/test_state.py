"""TFLite files with variables, several subgraphs and signatures, and uint8 steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema  # type: ignore[import-untyped]

from tests.recurrent_models import lstm, svdf
from tests.tflite_builder import ModelBuilder
from tinydeploy.errors import ModelError, TinyDeployError, UnsupportedError
from tinydeploy.frontends import ImportOptions
from tinydeploy.frontends.tflite import load_bytes
from tinydeploy.ir import DType, Graph
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.ops.requantize import Requantize
from tinydeploy.ops.svdf import Svdf


def loaded(builder: ModelBuilder, signature: str | None = None) -> Graph:
    return load_bytes(builder.build(), "m", "", ImportOptions(signature=signature))


def handle(builder: ModelBuilder, name: str, tensors: list[object]) -> int:
    tensors.append(schema.TensorT(shape=[], type=schema.TensorType.RESOURCE, name=name))
    return len(tensors) - 1


def counter(
    first: list[list[int]] | None = None, *, change: Callable[[ModelBuilder], None] = lambda _: None
) -> ModelBuilder:
    """Adds its input to a variable, int32, and gives the sum; ``first`` is the variable's first value."""
    builder = ModelBuilder().input((1, 2), dtype="int32", scale=None, name="in")
    if first is not None:
        builder.operator("CALL_ONCE", [], [], schema.CallOnceOptionsT(initSubgraphIndex=1))
    variable = handle(builder, "sum/handle", builder.tensors)
    options = schema.VarHandleOptionsT(container="c", sharedName="sum")
    builder.operator("VAR_HANDLE", [], [variable], options)
    before = builder.tensor((1, 2), dtype="int32", scale=None, name="before")
    after = builder.tensor((1, 2), dtype="int32", scale=None, name="after")
    builder.operator("READ_VARIABLE", [variable], [before])
    builder.operator("ADD", [before, 0], [after], schema.AddOptionsT())
    builder.operator("ASSIGN_VARIABLE", [variable, after], [])
    builder.at(after).output()
    change(builder)
    builder.build()
    if first is not None:
        inner = ModelBuilder()
        inner.model = builder.model
        tensors: list[object] = inner.tensors
        other = handle(inner, "handle", tensors)
        value = inner.tensor(np.shape(first), dtype="int32", scale=None, data=np.asarray(first, np.int32))
        operators = ModelBuilder.operator
        operators(inner, "VAR_HANDLE", [], [other], options)
        operators(inner, "ASSIGN_VARIABLE", [other, value], [])
        builder.model.subgraphs.append(
            schema.SubGraphT(name="init", tensors=tensors, operators=inner.operators, inputs=[], outputs=[])
        )
    return builder


def sums(graph: Graph, runs: int) -> list[list[int]]:
    interpreter = Interpreter(graph)
    step = np.array([[1, 10]], np.int32)
    return [interpreter.run([step])[0].reshape(-1).tolist() for _ in range(runs)]


def test_a_resource_variable_is_a_state() -> None:
    graph = loaded(counter())
    (state,) = graph.states
    assert graph.values[state.before].name == "sum"
    assert sums(graph, 3) == [[1, 10], [2, 20], [3, 30]]


def test_call_once_gives_the_first_value() -> None:
    assert sums(loaded(counter([[5, 7]])), 2) == [[6, 17], [7, 27]]


def test_a_first_value_of_another_shape_is_a_contradiction() -> None:
    with pytest.raises(
        ModelError, match=r"variable 'sum': it starts as int32\[1, 3\] and is read as int32\[1, 2\]"
    ):
        loaded(counter([[5, 7, 9]]))


def test_an_initialization_that_computes_is_a_gap() -> None:
    builder = counter([[5, 7]])
    builder.model.subgraphs[1].operators[1].opcodeIndex = 3  # ADD
    with pytest.raises(UnsupportedError, match="the initialization computes ADD; keep state in inputs"):
        loaded(builder)


def test_a_first_value_that_is_not_constant_is_a_gap() -> None:
    builder = counter([[5, 7]])
    builder.model.subgraphs[1].tensors[1].buffer = 0
    with pytest.raises(UnsupportedError, match="a variable's first value, is not constant"):
        loaded(builder)


def test_contradictions_about_variables() -> None:
    def other_handle(builder: ModelBuilder) -> None:
        builder.operators[1].inputs = [0]

    with pytest.raises(ModelError, match="tensor 0 'in' is not the handle of a variable"):
        loaded(counter(change=other_handle))

    def twice(builder: ModelBuilder) -> None:
        builder.operators[2].outputs = [2]

    with pytest.raises(ModelError, match="tensor 2 'before': it is made by 'before' and already has a value"):
        loaded(counter(change=twice))
    builder = counter([[1, 2]])
    builder.operators[0].builtinOptions.initSubgraphIndex = 9
    with pytest.raises(ModelError, match="subgraph 9 does not exist"):
        loaded(builder)


def test_a_variable_tensor_starts_at_what_stands_for_zero() -> None:
    graph = loaded(svdf(ModelBuilder().input((1, 3)), 2, state_zero_point=-5))
    (state,) = graph.states
    (node,) = graph.nodes
    assert isinstance(node.attrs, Svdf)
    assert node.inputs[3] == state.before
    assert node.outputs[1] == state.after
    first = graph.blobs.array(state.initial, graph.type(state.before))
    assert set(first.reshape(-1).tolist()) == {-5}


def test_a_variable_that_nothing_updates_keeps_its_value() -> None:
    builder = ModelBuilder().input((1, 4), name="in").input((1, 4), name="kept")
    builder.inputs.pop()
    builder.tensors[1].isVariable = True
    graph = loaded(builder.at(0).add(1))
    (state,) = graph.states
    assert state.before == state.after


@pytest.mark.parametrize(
    ("builder", "words"),
    [
        (lambda: svdf(ModelBuilder().input((1, 3)), 2), r"its state tensor 4 'tensor_4' is not a variable"),
        (
            lambda: lstm(ModelBuilder().input((1, 2, 3)), 2),
            r"its state tensor \d+ 'tensor_\d+' is not a variable",
        ),
    ],
)
def test_a_state_has_to_be_a_variable(builder: Callable[[], ModelBuilder], words: str) -> None:
    made = builder()
    for tensor in made.tensors:
        tensor.isVariable = False
    with pytest.raises(ModelError, match=words):
        loaded(made)


def changed_lstm(*, real: bool = False, **fields: object) -> ModelBuilder:
    options = {"dtype": "float32", "scale": None} if real else {}
    builder = lstm(ModelBuilder().input((1, 2, 3), **options), 2, real=real)
    for name, value in fields.items():
        setattr(builder.operators[0].builtinOptions, name, value)
    return builder


def lstm_with(position: int, tensor: int) -> ModelBuilder:
    builder = changed_lstm()
    builder.operators[0].inputs[position] = tensor
    return builder


def coupled() -> ModelBuilder:
    builder = lstm_with(1, -1)
    builder.operators[0].inputs[5] = -1
    return builder


def hybrid_lstm() -> ModelBuilder:
    builder = changed_lstm(real=True)
    other = builder.tensor((2, 3), scale=0.1, data=np.zeros((2, 3), np.int8))
    builder.operators[0].inputs[1] = other
    return builder


@pytest.mark.parametrize(
    ("builder", "words"),
    [
        (changed_lstm(fusedActivationFunction=1), "an activation other than tanh is not supported"),
        (changed_lstm(diagonalRecurrentTensors=True), "diagonal recurrent weights are not supported"),
        (lstm_with(9, 1), "peephole connections is not supported"),
        (lstm_with(16, 1), "a projection is not supported"),
        (lstm_with(20, 1), "layer normalization is not supported"),
        (coupled(), "an input gate that is coupled to the forget gate is not supported"),
        (hybrid_lstm(), "is not constant float32 beside float data"),
    ],
)
def test_cells_that_are_gaps(builder: ModelBuilder, words: str) -> None:
    with pytest.raises(UnsupportedError, match=words):
        loaded(builder)


def test_contradictions_about_cells() -> None:
    with pytest.raises(ModelError, match="weights or biases are missing"):
        loaded(lstm_with(1, -1))
    with pytest.raises(ModelError, match=r"the cell's clip is -1\.0; a number from 0 on is needed"):
        loaded(changed_lstm(cellClip=-1.0))
    builder = changed_lstm()
    builder.operators[0].inputs = builder.operators[0].inputs[:19]
    with pytest.raises(ModelError, match="19 inputs; it takes 20 to 24"):
        loaded(builder)


def signed(builder: ModelBuilder) -> ModelBuilder:
    builder.model.signatureDefs = [
        schema.SignatureDefT(signatureKey=name, subgraphIndex=index, inputs=[], outputs=[])
        for index, name in enumerate(("first", "second"))
    ]
    return builder


def two() -> ModelBuilder:
    """Softmax, and under another signature a reshape."""
    builder = ModelBuilder().input((1, 4), name="a").reshape((4,))
    other = ModelBuilder().input((1, 4), name="b")
    builder.build()
    builder.model.subgraphs.append(
        schema.SubGraphT(name="other", tensors=other.tensors, operators=[], inputs=[0], outputs=[0])
    )
    return signed(builder)


def test_the_first_subgraph_runs_where_no_signature_is_asked_for() -> None:
    graph = loaded(two())
    assert [graph.values[value].name for value in graph.inputs] == ["a"]


def test_a_signature_names_a_subgraph() -> None:
    graph = loaded(two(), signature="second")
    assert [graph.values[value].name for value in graph.inputs] == ["b"]
    assert graph.nodes == ()


def test_an_unknown_signature_is_answered_with_those_that_exist() -> None:
    with pytest.raises(
        TinyDeployError, match=r"m: the file has no signature 'x'.* It has: 'first', 'second'"
    ):
        loaded(two(), signature="x")
    with pytest.raises(TinyDeployError, match=r"no signature 'x'\. It has: none"):
        loaded(ModelBuilder().input((1, 4)).softmax(), signature="x")


def test_a_signature_of_no_subgraph_is_a_contradiction() -> None:
    builder = two()
    builder.model.signatureDefs[1].subgraphIndex = 5
    with pytest.raises(ModelError, match="signature 'second': subgraph 5 does not exist; there are 2"):
        loaded(builder)


def test_uint8_steps_become_int8_inside() -> None:
    builder = ModelBuilder(dtype="uint8", weights="uint8", weight_zero=100)
    graph = loaded(builder.input((1, 5, 4, 2), zero_point=128).conv2d(3, per_channel=False, zero_point=128))
    assert [type(node.attrs).__name__ for node in graph.nodes] == ["Requantize", "Conv2D", "Requantize"]
    assert graph.nodes[0].attrs == Requantize(DType.INT8)
    types = [graph.type(value) for value in (*graph.inputs, graph.nodes[0].outputs[0], *graph.outputs)]
    assert [type_.dtype for type_ in types] == [DType.UINT8, DType.INT8, DType.UINT8]
    assert [type_.quant and type_.quant.zero_point for type_ in types] == [128, 0, 128]


def test_uint8_steps_that_only_move_stay_as_they_are() -> None:
    builder = ModelBuilder(dtype="uint8").input((1, 5, 4, 2)).reshape((40,))
    graph = loaded(builder)
    assert len(graph.nodes) == 1
    assert graph.type(graph.outputs[0]).dtype is DType.UINT8
