"""Quantized ONNX models are integer, a step from onnxruntime at most at each node, and our C has our bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest

from tests.golden.ort_nodes import assert_close, integer_graph
from tests.golden.qdq_cases import CASES
from tests.golden.qdq_models import QdqBuilder
from tests.running import assert_bit_exact
from tests.shared_data import SHARED, needs_shared
from tinydeploy.build import compile_graph
from tinydeploy.frontends.onnx import load_bytes
from tinydeploy.ir import Array, DType, Graph
from tinydeploy.kernels.targets import TARGETS
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.passes.layout import layout

MODELS = SHARED / "models" / "onnx"
GOLDEN = SHARED / "models" / "golden"


def floats_of(graph: Graph) -> list[str]:
    """The nodes that compute with real numbers; Quantize and Dequantize at the edges do not count."""
    return [
        f"{node.op} {node.name}"
        for node in graph.nodes
        if node.op not in ("Quantize", "Dequantize", "Reshape")
        and any(graph.type(value).dtype is DType.FLOAT32 for value in node.outputs)
    ]


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("case", CASES)
def test_operators_are_a_step_from_onnxruntime_at_most(case: str, dtype: str) -> None:
    builder = QdqBuilder(len(case), dtype)
    CASES[case](builder)
    model = builder.model()
    assert not floats_of(integer_graph(model))
    assert_close(model, builder.samples(4))


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_ties_are_those_of_onnxruntime(dtype: str) -> None:
    builder = QdqBuilder(9, dtype)
    CASES["conv_ties"](builder)
    assert_close(builder.model(), builder.samples(6), steps=0)


WIDE = [case for case in CASES if case != "resizes"]
"""A resize of int16 has weights of 14 bits: it is two steps of 2**-16 off."""


@pytest.mark.parametrize("case", WIDE)
def test_operators_of_16_bits_are_a_step_off_at_most(case: str) -> None:
    builder = QdqBuilder(len(case), "int16")
    CASES[case](builder)
    assert {text.split()[0] for text in floats_of(integer_graph(builder.model()))} <= {"Binary"}
    assert_close(builder.model(), builder.samples(4))


@pytest.mark.parametrize(
    ("dtype", "core"),
    [
        ("int8", "cortex-m4"),
        pytest.param("int8", "cortex-m0", marks=pytest.mark.slow),
        pytest.param("int16", "cortex-m4", marks=pytest.mark.slow),
    ],
)
def test_generated_code_has_the_bits_of_the_reference(dtype: str, core: str, tmp_path: Path) -> None:
    builder = QdqBuilder(5, dtype)
    for case in CASES if dtype == "int8" else WIDE:
        CASES[case](builder)
    graph = load_bytes(builder.model().SerializeToString(), "model")
    compiled = compile_graph(graph, TARGETS[core])
    text = compiled.library.files["model.c"].split("/* Step 0")[0]
    assert dtype == "int16" or "(float" not in text
    assert "td_expf" not in text
    assert_bit_exact(compiled, tmp_path, samples=2)


def test_a_model_with_moves_at_its_edges_has_no_other_float(tmp_path: Path) -> None:
    """Quantize is brought to the inputs, Dequantize to the outputs."""
    builder = QdqBuilder(1)
    builder.inputs.append(onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1, 2, 3]))
    turned = builder.node("Transpose", "x", perm=[2, 0, 1])
    relu = builder.between(builder.node("Relu", builder.between(turned)))
    last = builder.node("Transpose", relu, perm=[1, 2, 0])
    builder.outputs.append(onnx.helper.make_tensor_value_info(last, onnx.TensorProto.FLOAT, [1, 2, 3]))
    graph = integer_graph(builder.model())
    assert [node.op for node in graph.nodes] == ["Quantize", "Transpose", "Lookup", "Transpose", "Dequantize"]


def _archive(path: Path) -> dict[str, Array]:
    with np.load(path) as archive:
        return dict(archive)


def _case(name: str) -> Path:
    return SHARED / "cases" / name


@needs_shared
@pytest.mark.parametrize("name", ["diff_zp", "same_zp"])
def test_weights_with_zero_points(name: str, tmp_path: Path) -> None:
    folder = _case("g03_qlinearconv_wzp")
    model = onnx.load(folder / f"{name}.onnx")
    feeds = _archive(folder / "input.npz")
    port = model.graph.input[0].name
    data = feeds[port] if port in feeds else next(iter(feeds.values()))
    assert_close(model, [{port: data}])
    compiled = compile_graph(load_bytes(model.SerializeToString(), "model"), TARGETS["cortex-m4"])
    assert_bit_exact(compiled, tmp_path)


@needs_shared
@pytest.mark.parametrize("name", ["i8_z0", "i8_z3", "u8_z0", "u8_z3"])
def test_ties_go_to_even(name: str) -> None:
    folder = _case("g04_quantize_ties")
    graph = integer_graph(onnx.load(folder / f"{name}.onnx"))
    (data,) = _archive(folder / "input.npz").values()
    (result,) = Interpreter(graph).run((data,))
    np.testing.assert_array_equal(result, _archive(folder / "expected.npz")[name])


@needs_shared
@pytest.mark.parametrize("name", ["alpha0.5_beta2.0", "alpha1.0_beta1.0", "alpha2.0_beta1.0"])
def test_factors_of_gemm(name: str) -> None:
    model = onnx.load(_case("g09_gemm_alpha") / f"{name}.onnx")
    data = _archive(_case("g09_gemm_alpha") / "input.npz")
    graph = integer_graph(model)
    assert "FullyConnected" in {node.op for node in graph.nodes}
    assert not floats_of(graph)
    assert_close(model, [{model.graph.input[0].name: next(iter(data.values()))}])


@needs_shared
@pytest.mark.parametrize("name", ["emx_micro_kws_qdq", "emx_micro_kws_qop_addshape", "tract_qrelu"])
def test_models_that_people_deploy(name: str, tmp_path: Path) -> None:
    model = onnx.load(MODELS / f"{name}.onnx")
    golden = _archive(GOLDEN / f"{name}.onnx.npz")
    data = next(array for name, array in golden.items() if name.startswith("in"))
    assert_close(model, [{model.graph.input[0].name: data}])
    graph = integer_graph(model)
    assert not floats_of(graph)
    (result,) = Interpreter(graph).run((data,))
    assert result.argmax() == golden["out0"].argmax()
    assert name == "tract_qrelu" or "Transpose" not in {node.op for node in layout(graph).nodes}
    compiled = compile_graph(load_bytes(model.SerializeToString(), "model"), TARGETS["cortex-m4"])
    assert_bit_exact(compiled, tmp_path)
