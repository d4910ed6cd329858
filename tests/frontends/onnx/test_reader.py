"""What an ONNX file may hold: constants wherever they hide, functions, branches, open dimensions, states."""

from __future__ import annotations

import re

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.frontends.onnx.making import FLOATS, gaps_of, graph_of, model_of, ops_of, run, with_initializers
from tinydeploy.errors import ModelError, TinyDeployError, UnsupportedError
from tinydeploy.frontends import ImportOptions, Layout
from tinydeploy.frontends.onnx import importer, load_bytes
from tinydeploy.ir import DType
from tinydeploy.ops.interpreter import Interpreter

MLP = """
mlp (float[1, 4] x) => (float[1, 2] y)
  <float[3, 4] w = {1, 0, 0, 0, 0, -1, 0, 0, 0, 0, 1, 1}, float[3] b = {0.5, 0, -1},
   float[3, 2] v = {1, 0, 0, 1, 1, 1}>
{ h = Gemm<transB: int = 1>(x, w, b)  r = Relu(h)  y = MatMul(r, v) }
"""


def test_a_float_network_runs() -> None:
    graph = graph_of(model_of(MLP))
    assert ops_of(graph) == ["FullyConnected", "Relu", "FullyConnected"]
    (y,) = run(graph, FLOATS)
    assert y.tolist() == [[1.5 + 6, 6]]
    assert graph.name == "net"
    assert [graph.values[value].name for value in (*graph.inputs, *graph.outputs)] == ["x", "y"]


@pytest.mark.parametrize("opset", [7, 8, 9, 10, 11, 12, 13, 17, 21, onnx.defs.onnx_opset_version()])
def test_every_opset_from_7_on(opset: int) -> None:
    (y,) = run(graph_of(model_of(MLP, opset=opset)), FLOATS)
    assert y.tolist() == [[7.5, 6]]


def test_older_opsets_work_where_the_operator_is_the_same() -> None:
    model = model_of("g (bool[2] x) => (bool[2] y) { y = Not(x) }", opset=1)
    (y,) = run(graph_of(model), np.array([True, False]))
    assert y.tolist() == [False, True]
    (gap,) = gaps_of(model_of("g (float[2] x) => (float[2] y) { y = Relu(x) }", opset=5))
    assert (gap.op, gap.reason) == ("Relu", "Relu of opset 5 is not supported; 7 and newer are")
    assert "onnx.version_converter" in gap.remedy


def test_newer_opsets_are_a_gap() -> None:
    newest = onnx.defs.onnx_opset_version()
    (gap,) = gaps_of(model_of("g (float[2] x) => (float[2] y) { y = Relu(x) }", opset=newest + 1))
    assert (gap.node, gap.op) == (f"opset {newest + 1}", "OPSET")
    assert gap.reason == f"opsets 7 to {newest} are supported"
    assert gap.remedy == "update the onnx package, or export for an older opset"


def test_initializers_that_are_inputs_are_constants() -> None:
    model = model_of(MLP)
    model.ir_version = 3
    for tensor in model.graph.initializer:
        info = helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        model.graph.input.append(info)
    graph = graph_of(model)
    assert [graph.values[value].name for value in graph.inputs] == ["x"]


def test_constant_nodes_of_every_kind() -> None:
    text = """g (float[2] x) => (float[2] y) {
      a = Constant<value: tensor = float[2] {1, 2}>()
      b = Constant<value_float: float = 3.0>()
      c = Constant<value_floats: floats = [4.0, 5.0]>()
      s = Constant<value_ints: ints = [-1]>()
      i = Constant<value_int: int = 2>()
      j = Cast<to: int = 1>(i)
      p = Add(x, a)  q = Add(p, b)  r = Add(q, c)  t = Mul(r, j)  y = Reshape(t, s) }"""
    graph = graph_of(model_of(text))
    assert run(graph, np.zeros(2, np.float32))[0].tolist() == [16, 20]


def test_shape_arithmetic_is_folded() -> None:
    text = """g (float[2, 3, 4] x) => (float[N] y) <int64[1] zero = {0}, int64[1] minus = {-1}> {
      s = Shape(x)  n = Gather<axis: int = 0>(s, zero)  t = Concat<axis: int = 0>(n, minus)
      f = Cast<to: int = 1>(t)  i = Cast<to: int = 7>(f)  y = Reshape(x, i) }"""
    graph = graph_of(model_of(text))
    assert ops_of(graph) == ["Reshape"]
    assert graph.type(graph.outputs[0]).shape == (2, 12)


def test_what_would_be_too_large_is_not_folded() -> None:
    text = """g (float[1] x) => (float[1] y) <int64[2] n = {60000, 60000}> {
      big = ConstantOfShape(n)  y = Add(x, big) }"""
    with pytest.raises(TinyDeployError):
        graph_of(model_of(text))


def test_model_functions_are_opened() -> None:
    functions = """
      <domain: "my", opset_import: ["": 17]> twice <scale: float = 2.0> (a, b) => (c) {
        k = Constant<value_float: float = @scale>()  m = Mul(a, k)  c = my.plus(m, b) }
      <domain: "my", opset_import: ["": 17]> plus (a, b) => (c) { c = Add(a, b) }"""
    text = "g (float[1, 4] x) => (float[1, 4] y) { t = my.twice<scale = 3.0>(x, x)  y = my.twice(t, x) }"
    model = model_of(
        text, more=', "my": 1', functions=functions.replace('["": 17]> twice', '["": 17, "my": 1]> twice')
    )
    graph = graph_of(model)
    assert run(graph, FLOATS)[0].tolist() == (FLOATS * 9).tolist()
    assert graph.values[graph.outputs[0]].name == "y"


def test_a_function_that_calls_itself_is_a_fault() -> None:
    functions = '<domain: "my", opset_import: ["": 17, "my": 1]> f (a) => (c) { c = my.f(a) }'
    text = "g (float[1] x) => (float[1] y) { y = my.f(x) }"
    with pytest.raises(ModelError, match="functions or branches lie more than 32 deep in each other"):
        graph_of(model_of(text, more=', "my": 1', functions=functions))


def test_functions_that_grow_without_end_are_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen calls of sixteen calls of ...: the nodes are counted while they are opened."""
    monkeypatch.setattr(importer, "MAX_NODES", 1000)
    levels = []
    for level in range(6):
        inner = "Relu" if level == 5 else f"my.f{level + 1}"
        calls = " ".join(f"t{k + 1} = {inner}(t{k})" for k in range(16))
        levels.append(f'<domain: "my", opset_import: ["": 17, "my": 1]> f{level} (t0) => (t16) {{ {calls} }}')
    text = "g (float[1] x) => (float[1] y) { y = my.f0(x) }"
    with pytest.raises(ModelError, match="more than 1000 nodes"):
        graph_of(model_of(text, more=', "my": 1', functions=" ".join(levels)))


def test_operators_without_a_rule_are_opened_by_their_own_definition() -> None:
    text = "g (float[1, 4] x) => (float[1, 4] y) { y = Celu<alpha: float = 2.0>(x) }"
    (y,) = run(graph_of(model_of(text)), -FLOATS)
    np.testing.assert_allclose(y, 2 * np.expm1(-FLOATS / 2), rtol=1e-5)


IF = """g (float[1, 4] x, bool which) => (float[1, 4] y) {
  k = Relu(x)
  y = If(which) <then_branch = a () => (float[1, 4] p) { p = Add(k, x) },
                 else_branch = b () => (float[1, 4] q) <float[1] c = {5}> { q = Mul(k, c) }> }"""


@pytest.mark.parametrize("which", [True, False])
def test_an_if_of_a_known_condition_is_its_branch(which: bool) -> None:
    graph = graph_of(model_of(IF), ImportOptions(values=(("which", float(which)),)))
    assert ops_of(graph) == ["Relu", "Add" if which else "Mul"]
    assert run(graph, FLOATS)[0].tolist() == (FLOATS * (2 if which else 5)).tolist()


def test_an_if_of_an_unknown_condition_is_a_gap() -> None:
    (gap,) = gaps_of(model_of(IF))
    assert gap.op == "If"
    assert gap.remedy.endswith(
        "make its condition constant: --value INPUT=NUMBER sets an input it depends on"
    )


SEQUENCE = """g (float[batch, time, 4] x, float[batch, D] z, float[2, batch] h) => (float[1] y) {
  y = ReduceSum<keepdims: int = 0>(x) }"""


def test_dynamic_batches_are_1_and_other_dimensions_are_asked_for() -> None:
    with pytest.raises(TinyDeployError) as caught:
        graph_of(model_of(SEQUENCE))
    assert caught.value.what == (
        "2 dynamic dimensions have no size: time (axis 1 of input 'x'); D (axis 1 of input 'z')"
    )
    assert caught.value.fix == "Give a size for each: --dim time=N --dim D=N"
    graph = graph_of(model_of(SEQUENCE), ImportOptions(dims=(("time", 5), ("z:1", 3))))
    assert [graph.type(value).shape for value in graph.inputs] == [(1, 5, 4), (1, 3), (2, 1)]
    graph = graph_of(model_of(SEQUENCE), ImportOptions(dims=(("time", 5), ("D", 3), ("batch", 2))))
    assert [graph.type(value).shape for value in graph.inputs] == [(2, 5, 4), (2, 3), (2, 2)]


def test_dimensions_without_names_are_asked_for_by_place() -> None:
    model = model_of("g (float[3, ?] x) => (float[3, 7] y) { y = Relu(x) }")
    with pytest.raises(TinyDeployError, match=r"x:1 \(axis 1 of input 'x'\). Give .*: --dim x:1=N"):
        graph_of(model)
    assert graph_of(model, ImportOptions(dims=(("x:1", 7),))).type(0).shape == (3, 7)


def test_a_size_for_no_dimension_is_a_mistake() -> None:
    with pytest.raises(
        TinyDeployError,
        match=r"--dim 'width' is no dynamic dimension of the model\. Dynamic dimensions: batch, time, D",
    ):
        graph_of(model_of(SEQUENCE), ImportOptions(dims=(("width", 5),)))


def test_a_first_dimension_that_speaks_of_time_is_no_batch() -> None:
    model = model_of("g (float[sequence, 4] x) => (float[sequence, 4] y) { y = Relu(x) }")
    with pytest.raises(TinyDeployError, match="--dim sequence=N"):
        graph_of(model)


def test_an_input_and_an_output_become_a_state() -> None:
    text = """g (float[2] x, float[2] total) => (float[2] y, float[2] next) {
      next = Add(x, total)  y = Neg(next) }"""
    graph = graph_of(model_of(text), ImportOptions(states=(("total", "next"),)))
    assert [graph.values[value].name for value in (*graph.inputs, *graph.outputs)] == ["x", "y"]
    interpreter, one = Interpreter(graph), np.ones(2, np.float32)
    assert [interpreter.run([one])[0].tolist() for _ in range(3)] == [[-1, -1], [-2, -2], [-3, -3]]


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ((("total", "y"), ("total", "next")), "--state names an input or output twice"),
        ((("sum", "next"),), "--state names 'sum', which is no input of the model. Its inputs: x, total"),
        ((("total", "z"),), "--state names 'z', which is no output of the model. Its outputs: y, next"),
        (
            (("x", "next"),),
            r"--state x=next pairs \[1\] of float32 with \[2\] of float32. Both must be of one type",
        ),
    ],
)
def test_states_that_do_not_fit(states: tuple[tuple[str, str], ...], message: str) -> None:
    text = """g (float[1] x, float[2] total) => (float[2] y, float[2] next) {
      next = Add(x, total)  y = Neg(next) }"""
    with pytest.raises(TinyDeployError, match=message):
        graph_of(model_of(text), ImportOptions(states=states))


def test_channels_last_at_the_interface() -> None:
    text = "g (float[1, 2, 3, 4] x) => (float[1, 2, 3, 4] y) { y = Relu(x) }"
    graph = graph_of(model_of(text), ImportOptions(layout=Layout.NHWC))
    assert [graph.type(value).shape for value in (*graph.inputs, *graph.outputs)] == [(1, 3, 4, 2)] * 2
    x = np.arange(24, dtype=np.float32).reshape(1, 3, 4, 2)
    assert run(graph, x)[0].tolist() == x.tolist()


def test_every_gap_at_once_with_its_domain() -> None:
    text = """g (float[2] x) => (float[2] y) {
      [one] a = my.Foo(x)  b = Relu(a)  [two] c = NonZero(b)
      d = Cast<to: int = 1>(c)  [three] y = other.Foo(d) }"""
    found = gaps_of(model_of(text, more=', "my": 1, "other": 1'))
    assert [(gap.node, gap.op) for gap in found] == [
        ("one", "my.Foo"),
        ("two", "NonZero"),
        ("three", "other.Foo"),
    ]
    assert found[0].reason == "the operator Foo of the domain my is not supported"
    assert all(gap.remedy for gap in found)
    with pytest.raises(UnsupportedError, match="3 nodes are not supported"):
        graph_of(model_of(text, more=', "my": 1, "other": 1'))


def test_inputs_of_other_types_are_gaps() -> None:
    model = model_of("g (double[2] x, float16[2] z) => (double[2] y) { y = Relu(x) }")
    model.graph.input.append(helper.make_tensor_sequence_value_info("s", TensorProto.FLOAT, None))
    assert [(gap.node, gap.reason) for gap in gaps_of(model)] == [
        ("x", "its elements are double"),
        ("z", "its elements are float16"),
        ("s", "it is of the kind sequence"),
    ]


def test_constants_of_other_types_are_gaps_only_where_they_are_needed() -> None:
    text = "g (float[2] x) => (float[2] y) { d = Cast<to: int = 1>(c)  y = Add(x, d) }"
    model = with_initializers(model_of(text), {"c": np.array([1.5, 2.5])})
    assert run(graph_of(model), np.zeros(2, np.float32))[0].tolist() == [1.5, 2.5]
    bad = with_initializers(
        model_of("g (float[2] x) => (float[2] y) { y = Add(x, c) }"), {"c": np.array([1.5, 2.5])}
    )
    (gap,) = gaps_of(bad)
    assert gap.reason == "constant 'c' has elements of type float64"


def test_outputs_may_be_constants_inputs_and_each_other() -> None:
    text = """g (float[2] x) => (float[2] y, float[2] a, float[2] b, float[2] c) <float[2] c = {7, 8}> {
      y = Relu(x)  a = Identity(x)  b = Identity(y) }"""
    graph = graph_of(model_of(text))
    got = run(graph, np.array([-1, 2], np.float32))
    assert [array.tolist() for array in got] == [[0, 2], [-1, 2], [0, 2], [7, 8]]


def test_training_is_refused() -> None:
    text = "g (float[2] x) => (float[2] y) <float r = {0.5}, bool t = {1}> { y = Dropout(x, r, t) }"
    (gap,) = gaps_of(model_of(text))
    assert gap.reason == "it is in training mode"
    assert gap.remedy == "export the model for inference (model.eval())"


def test_the_mask_of_dropout_is_true() -> None:
    text = "g (float[2] x) => (float[2] y, bool[2] m) { y, m = Dropout(x) }"
    graph = graph_of(model_of(text))
    assert run(graph, np.array([1, 2], np.float32))[1].tolist() == [True, True]
    assert graph.type(graph.outputs[1]).dtype is DType.BOOL


def test_what_depends_on_run_time_values_at_compile_time_says_so() -> None:
    (gap,) = gaps_of(model_of("g (float[2] x, int64[1] s) => (float[2] y) { y = Reshape(x, s) }"))
    assert gap.reason == "needs the shape at compile time, and it is computed from the model's inputs"
    assert re.search("export with fixed shapes, or fold its computation with onnxsim", gap.remedy)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("y = Add(x, z)", "node 'y': it reads 'z', which nothing before it makes"),
        ("y = Relu(a) a = Relu(x)", "Nodes must be in an order in which they can run"),
        ("y = Relu(x) y = Neg(x)", "'y' is made again as output 0 of node 'y'; a name has one value"),
        ("x = Relu(x) y = Relu(x)", "'x' is made again"),
        ("y = Relu(x, x)", "2 inputs; it takes 1"),
        ("y = Relu<alpha: float = 1.0>(x)", "attribute 'alpha' is none of its attributes in version 14"),
        ("y = LeakyRelu<alpha: int = 1>(x)", "attribute 'alpha' is of type int; it should be float"),
        ("y = Add(x, k)", r"the operator cannot take inputs float32\[2\], float32\[3\]|broadcast|extent"),
        ("y = Flatten<axis: int = 9>(x)", r"axis 9 of \[2\]"),
        ("y = Reshape(x, m)", r"shape \[5\] for"),
        ("y = Squeeze(x, n)", r"axes \[0\] of \[2\] are not of extent 1"),
        ("y = Unsqueeze(x, m)", r"axes \[5\] of 2 dimensions"),
    ],
)
def test_contradictions_are_named_with_their_place(text: str, message: str) -> None:
    model = model_of(
        "g (float[2] x) => (float[2] y)"
        f"<float[3] k = {{1, 2, 3}}, int64[1] m = {{5}}, int64[1] n = {{0}}> {{ {text} }}"
    )
    with pytest.raises(TinyDeployError, match=message) as caught:
        graph_of(model)
    assert "net.onnx" in str(caught.value)


def test_a_graph_without_outputs_and_names_given_twice_are_faults() -> None:
    with pytest.raises(ModelError, match="the model has no outputs"):
        graph_of(model_of("g (float[2] x) => () { y = Relu(x) }"))
    twice = model_of("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    twice.graph.output.append(twice.graph.output[0])
    with pytest.raises(ModelError, match="two outputs have one name"):
        graph_of(twice)
    twice = model_of("g (float[2] x, float[2] x) => (float[2] y) { y = Relu(x) }")
    with pytest.raises(ModelError, match="'x' is an input twice"):
        graph_of(twice)
    model = model_of("g (float[2] x) => (float[2] y) { y = Relu(x) }")
    with pytest.raises(ModelError, match="the protocol buffer is damaged"):
        load_bytes(model.SerializeToString()[:-3], "net")
