"""What the rules of ONNX's moving operators make of a model, and what they refuse."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.onnx_models import OnnxBuilder
from tinydeploy.build import compile_graph
from tinydeploy.errors import ModelError, UnsupportedError
from tinydeploy.frontends.onnx import load_bytes
from tinydeploy.ir import Array, DType, Graph
from tinydeploy.kernels.targets import target_of
from tinydeploy.ops.interpreter import Interpreter


def model_of(op: str, operands: Sequence[Any], outputs: int = 1, opset: int = 17, **attributes: Any) -> bytes:
    """One node; shapes become float32 inputs, arrays constants, None absent inputs."""
    names, inputs, constants = [], [], []
    for position, operand in enumerate(operands):
        names.append("" if operand is None else f"in{position}")
        if isinstance(operand, tuple):
            inputs.append(helper.make_tensor_value_info(f"in{position}", TensorProto.FLOAT, operand))
        elif operand is not None:
            constants.append(numpy_helper.from_array(np.asarray(operand), f"in{position}"))
    results = [f"out{number}" for number in range(outputs)]
    node = helper.make_node(op, names, results, name="node", **attributes)
    made = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in results]
    graph = helper.make_graph([node], "graph", inputs, made, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    return bytes(model.SerializeToString())


def graph_of(op: str, *operands: Any, **options: Any) -> Graph:
    return load_bytes(model_of(op, operands, **options), "model")


def nodes_of(graph: Graph) -> list[str]:
    return [node.op for node in graph.nodes]


def inputs_of(graph: Graph) -> list[Array]:
    generator = np.random.default_rng(5)
    return [generator.standard_normal(graph.type(value).shape).astype(np.float32) for value in graph.inputs]


def assert_like_onnxruntime(data: bytes) -> None:
    graph = load_bytes(data, "model")
    arrays = inputs_of(graph)
    session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
    feed = dict(zip((item.name for item in session.get_inputs()), arrays, strict=True))
    results = zip(Interpreter(graph).run(arrays), session.run(None, feed), strict=True)
    for result, wanted in results:
        np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


EQUATIONS = [
    ("ij->ji", [(2, 3)]),
    ("ij", [(2, 3)]),
    ("ba", [(2, 3)]),
    ("ij->", [(2, 3)]),
    ("ii->i", [(3, 3)]),
    ("iji->j", [(3, 2, 3)]),
    ("...ii->...i", [(2, 3, 3)]),
    ("ij,jk->ik", [(2, 3), (3, 4)]),
    ("bij,bkj->bik", [(2, 3, 4), (2, 5, 4)]),
    ("bhid,bhjd->bhij", [(1, 2, 3, 4), (1, 2, 5, 4)]),
    ("...ij,...jk->...ik", [(2, 3, 4), (2, 4, 5)]),
    ("i,j->ij", [(2,), (3,)]),
    ("i,i->", [(4,), (4,)]),
    ("i,i", [(4,), (4,)]),
    ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)]),
    ("ik,jk,k->ij", [(2, 3), (4, 3), (3,)]),
    ("ijk,lk->ijl", [(2, 3, 4), (5, 4)]),
    ("ij,kl->", [(2, 3), (2, 2)]),
    ("ij,ij->ij", [(2, 3), (1, 3)]),
    (" i j , j -> i ", [(2, 3), (3,)]),
]


@pytest.mark.parametrize(("equation", "shapes"), EQUATIONS)
def test_equations(equation: str, shapes: list[tuple[int, ...]]) -> None:
    graph = graph_of("Einsum", *shapes, equation=equation)
    arrays = inputs_of(graph)
    (result,) = Interpreter(graph).run(arrays)
    wanted = np.einsum(equation.replace(" ", ""), *(array.astype(np.float64) for array in arrays))
    np.testing.assert_allclose(result, wanted, rtol=1e-5, atol=1e-6)


def test_a_matrix_product_is_one_node() -> None:
    assert nodes_of(graph_of("Einsum", (2, 3), (3, 4), equation="ij,jk->ik")) == ["BatchMatMul"]


@pytest.mark.parametrize(
    ("equation", "message"),
    [
        ("ij,jk->ik", "equation 'ij,jk->ik' for 1 inputs"),
        ("ijk->i", r"'ijk' for \[2, 3\]"),
        ("ii->i", r"label 'i' has several extents in \[2, 3\]"),
        ("ij->ix", "the output 'ix'"),
        ("i*->i", "for 1 inputs"),
    ],
)
def test_equations_that_contradict_themselves(equation: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        graph_of("Einsum", (2, 3), equation=equation)


RESIZES: list[tuple[dict[str, Any], Array | None, Array | None]] = [
    ({"mode": mode, "coordinate_transformation_mode": coordinates}, scales, sizes)
    for mode in ("linear", "cubic", "nearest")
    for coordinates in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")
    for scales, sizes in (
        (np.array([1, 1, 2, 1.5], np.float32), None),
        (None, np.array([1, 2, 3, 3])),
    )
]


@pytest.mark.parametrize("number", range(len(RESIZES)))
def test_resizes_are_those_of_onnxruntime(number: int) -> None:
    attributes, scales, sizes = RESIZES[number]
    assert_like_onnxruntime(model_of("Resize", [(1, 2, 4, 6), None, scales, sizes], opset=13, **attributes))


def test_a_resize_of_an_image_is_inside_two_transposes() -> None:
    scales = np.array([1, 1, 2, 2], np.float32)
    assert nodes_of(graph_of("Resize", (1, 2, 4, 4), None, scales)) == ["Transpose", "Take", "Transpose"]
    linear = graph_of("Resize", (1, 2, 4, 4), None, scales, mode="linear")
    assert nodes_of(linear) == ["Transpose", "Resample", "Resample", "Transpose"]
    assert nodes_of(graph_of("Resize", (1, 2, 4, 4), None, np.ones(4, np.float32))) == []


def test_fourier_transforms() -> None:
    signal = (2, 9, 1)
    forward = graph_of("DFT", signal, opset=17, axis=1, onesided=1)
    (data,) = inputs_of(forward)
    (spectrum,) = Interpreter(forward).run([data])
    wanted = np.fft.rfft(data[..., 0])
    np.testing.assert_allclose(spectrum[..., 0] + 1j * spectrum[..., 1], wanted, rtol=1e-5, atol=1e-5)
    for length in (8, 9):
        back = graph_of("DFT", (2, 5, 2), np.array(length), np.array(1), opset=20, inverse=1, onesided=1)
        (half,) = inputs_of(back)
        (samples,) = Interpreter(back).run([half])
        real = np.fft.irfft(half[..., 0] + 1j * half[..., 1], length)
        np.testing.assert_allclose(samples[..., 0], real, rtol=1e-5, atol=1e-5)
    longer = graph_of("DFT", (3, 4, 2), np.array(6), np.array(0), opset=20)
    (data,) = inputs_of(longer)
    (spectrum,) = Interpreter(longer).run([data])
    wanted = np.fft.fft(data[..., 0] + 1j * data[..., 1], 6, axis=0)
    np.testing.assert_allclose(spectrum[..., 0] + 1j * spectrum[..., 1], wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("side", [1, 2, 3, 4])
def test_determinants(side: int) -> None:
    graph = graph_of("Det", (2, side, side))
    (data,) = inputs_of(graph)
    (result,) = Interpreter(graph).run([data])
    np.testing.assert_allclose(result, np.linalg.det(data), rtol=1e-5, atol=1e-6)


def test_frames_of_a_signal() -> None:
    window = np.hanning(8).astype(np.float32)
    assert_like_onnxruntime(model_of("STFT", [(2, 30, 1), np.array(4), window, np.array(8)]))
    assert_like_onnxruntime(model_of("STFT", [(1, 20, 1), np.array(3), None, np.array(5)], onesided=0))


def test_moves_that_change_nothing_are_left_out() -> None:
    assert nodes_of(graph_of("Tile", (2, 3), np.array([1, 1]))) == []
    assert nodes_of(graph_of("Expand", (2, 3), np.array([1, 3]))) == []
    assert nodes_of(graph_of("Pad", (2, 3), np.zeros(4, np.int64))) == []
    assert nodes_of(graph_of("Slice", (2, 3), np.array([0]), np.array([9]))) == []
    assert nodes_of(graph_of("CenterCropPad", (2, 3), np.array([2, 3]), opset=18)) == []


def test_many_parts_are_joined_in_several_steps() -> None:
    graph = graph_of("Concat", *[(1, 2)] * 40, axis=0)
    assert nodes_of(graph) == ["Concatenation"] * 3
    assert graph.type(graph.outputs[0]).shape == (40, 2)


def test_a_table_is_read_at_indices_of_run_time() -> None:
    builder = OnnxBuilder()
    table = builder.constant(np.arange(12, dtype=np.float32).reshape(4, 3))
    indices = builder.input("i", (2, 1), TensorProto.INT64)
    builder.output(builder.node("Gather", table, indices))
    graph = load_bytes(builder.model().SerializeToString(), "model")
    (result,) = Interpreter(graph).run([np.array([[-1], [9]])])
    np.testing.assert_array_equal(result, [[[9, 10, 11]], [[9, 10, 11]]])


def test_a_cache_is_written_at_indices_of_run_time() -> None:
    builder = OnnxBuilder(opsets={"": 24})
    cache, update = builder.input("cache", (2, 4, 3)), builder.input("update", (2, 2, 3))
    places = builder.input("places", (2,), TensorProto.INT64)
    builder.output(builder.node("TensorScatter", cache, update, places, mode="circular"))
    graph = load_bytes(builder.model().SerializeToString(), "model")
    old, new = (
        np.random.default_rng(k).standard_normal((2, n, 3)).astype(np.float32) for k, n in ((1, 4), (2, 2))
    )
    (result,) = Interpreter(graph).run([old, new, np.array([1, 3])])
    wanted = old.copy()
    wanted[0, 1:3], wanted[1, 3], wanted[1, 0] = new[0], new[1, 0], new[1, 1]
    np.testing.assert_array_equal(result, wanted)


REFUSED = [
    ("Det", [(5, 5)], {}, "its matrices have 5 rows; 4 are supported"),
    ("NonZero", [(2, 3)], {}, "the shape of its result depends on the data"),
    ("Unique", [(6,)], {}, "the shape of its result depends on the data"),
    ("Slice", [(4,), np.array([2]), np.array([2])], {}, "the slice holds no elements"),
    ("Tile", [(2, 3), np.array([0, 1])], {}, "its result has no elements"),
    ("Resize", [(1, 2, 2, 2), None, np.full(4, 0.1, np.float32)], {}, "its result has"),
    ("DFT", [(1, 3000, 1)], {"axis": 1}, "its matrix has"),
    ("ImageDecoder", [(9,)], {"opset": 20}, "it decodes a compressed image|its elements|not supported"),
]


@pytest.mark.parametrize(("op", "operands", "options", "message"), REFUSED, ids=[row[0] for row in REFUSED])
def test_refusals(op: str, operands: list[Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        graph_of(op, *operands, **options)


FAULTS = [
    ("Det", [(2, 3)], {}, r"its input has shape \[2, 3\]; square matrices are needed"),
    ("Concat", [(2, 3)], {"axis": 2}, "axis 2 of 2 dimensions"),
    ("Transpose", [(2, 3)], {"perm": [0, 0]}, r"perm \[0, 0\] for \[2, 3\]"),
    ("Expand", [(2, 3), np.array([3, 3])], {}, r"shape \[3, 3\] for \[2, 3\]"),
    ("Tile", [(2, 3), np.array([2])], {}, r"repeats \[2\] for \[2, 3\]"),
    ("Pad", [(2, 3), np.array([1, 1])], {}, "2 pads for 2 axes"),
    ("Pad", [(2, 3), np.zeros(4, np.int64)], {"mode": "odd"}, "mode 'odd' is none of constant, reflect"),
    ("Slice", [(4,), np.array([0]), np.array([2]), np.array([0]), np.array([0])], {}, r"steps \[0\]"),
    ("Split", [(4,), np.array([1, 1])], {"outputs": 2}, r"sizes \[1, 1\] for 2 outputs from 4 elements"),
    ("DepthToSpace", [(1, 4, 2)], {"blocksize": 2}, r"blocks of 2, mode 'DCR', for \[1, 4, 2\]"),
    ("Gather", [(4,), np.array([4])], {}, "an index outside of 4 elements: 4 to 4"),
    (
        "ScatterND",
        [(4,), np.array([[4]]), (1,)],
        {"reduction": "odd"},
        "reduction 'odd' is none of none, add",
    ),
    ("Resize", [(1, 2), None, np.ones(3, np.float32)], {}, "3 scales and 0 sizes for 2 axes"),
    ("Resize", [(1, 2), None, np.ones(2, np.float32)], {"mode": "odd"}, "mode 'odd', coordinates"),
    ("GridSample", [(1, 2, 3, 3), (1, 2, 2, 2)], {"mode": "odd"}, "mode 'odd', padding 'zeros'"),
    ("AffineGrid", [(1, 2, 3), np.array([2, 1, 2, 2])], {"opset": 20}, r"size \[2, 1, 2, 2\] for matrices"),
    ("STFT", [(1, 8, 1), np.array(0), None, np.array(4)], {}, "frames of 4 every 0 samples"),
    ("Trilu", [(3,)], {}, r"its input has shape \[3\]; matrices are needed"),
]


@pytest.mark.parametrize(("op", "operands", "options", "message"), FAULTS, ids=[row[0] for row in FAULTS])
def test_faults(op: str, operands: list[Any], options: dict[str, Any], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        graph_of(op, *operands, **{"opset": 18, **options})


@pytest.mark.parametrize("mode", ["linear", "cubic", "nearest"])
def test_quantized_resizes_stay_within_a_step(mode: str) -> None:
    """Cubic sums leave the range of the elements between the two axes: their steps are finer and wider."""
    builder = OnnxBuilder(opsets={"": 13})
    x = builder.input("x", (1, 3, 4, 6))
    quant = builder.constant(np.array(0.05, np.float32)), builder.constant(np.array(3, np.int8))
    scales = builder.constant(np.array([1, 1, 2, 1.5], np.float32))
    steps = builder.node("DequantizeLinear", builder.node("QuantizeLinear", x, *quant), *quant)
    resized = builder.node("Resize", steps, "", scales, mode=mode)
    builder.output(builder.node("DequantizeLinear", builder.node("QuantizeLinear", resized, *quant), *quant))
    data = builder.model().SerializeToString()
    graph = compile_graph(load_bytes(data, "model"), target_of("host")).graph
    assert all(
        graph.type(value).dtype is not DType.FLOAT32 for node in graph.nodes[:-1] for value in node.outputs
    )
    image = np.random.default_rng(0).standard_normal((1, 3, 4, 6)).astype(np.float32) * 3
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
    (wanted,) = session.run(None, {"x": image})
    (result,) = Interpreter(graph).run([image])
    assert np.abs(result - wanted).max() < 0.05 * 1.01
