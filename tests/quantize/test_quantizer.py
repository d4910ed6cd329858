"""Whole quantizations: integer throughout, the same in onnxruntime, in our importer and in C."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

import tinydeploy
from tests.quantize.networks import convolutional, graph_of, images
from tests.running import assert_bit_exact
from tinydeploy.build import compile_graph
from tinydeploy.errors import BudgetError, TinyDeployError, UnsupportedError
from tinydeploy.frontends import load
from tinydeploy.ir import DType, Graph, Rewriter, TensorType
from tinydeploy.kernels.targets import target_of
from tinydeploy.ops.conv_2d import Conv2D
from tinydeploy.ops.cum_sum import CumSum
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.ops.quantized import Activation
from tinydeploy.passes import PASSES, run_passes
from tinydeploy.quantize import Budget, Method, Options, Quantized, quantize, write_onnx
from tinydeploy.quantize.quantizer import build, prepare, study
from tinydeploy.quantize.samples import from_arrays
from tinydeploy.quantize.scheme import tied_groups
from tinydeploy.quantize.studied import Precision

DATA = images(24)
INT16 = Options(activations=DType.INT16, input_type=DType.INT16, output_type=DType.INT16)
UINT8 = Options(input_type=DType.UINT8, output_type=DType.UINT8)
KINDS = {"int8": Options(), "int4": Options(weight_bits=4), "int16": INT16, "uint8": UINT8}


@pytest.fixture(scope="module")
def real() -> Graph:
    return graph_of(convolutional())


@pytest.fixture(scope="module")
def made(real: Graph) -> dict[str, Quantized]:
    return {name: quantize(real, DATA, options) for name, options in KINDS.items()}


def inputs_of(graph: Graph, count: int = 6) -> list[np.ndarray[tuple[int, ...], np.dtype[np.int8]]]:
    """Random steps for the one input of an integer graph."""
    type_ = graph.type(graph.inputs[0])
    random = np.random.default_rng(3)
    low, high = type_.dtype.limits
    return [random.integers(low // 2, high // 2, type_.shape).astype(type_.dtype.numpy) for _ in range(count)]


@pytest.mark.parametrize("kind", KINDS)
def test_the_file_means_the_same_everywhere(kind: str, made: dict[str, Quantized], tmp_path: Path) -> None:
    """Our integers, the file read back, and onnxruntime without optimizations."""
    found = made[kind]
    write_onnx(found.graph, tmp_path / "net.onnx")
    again = Interpreter(run_passes(load(tmp_path / "net.onnx"), PASSES))
    ours = Interpreter(found.integer)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(str(tmp_path / "net.onnx"), options)
    for steps in inputs_of(found.integer):
        (answer,) = ours.run((steps,))
        np.testing.assert_array_equal(again.run((steps,))[0], answer)
        (other,) = session.run(None, {session.get_inputs()[0].name: steps})
        assert np.abs(other.astype(np.int64) - answer).max() <= (1 if kind != "int16" else 2)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_left_in_floating_point(kind: str, made: dict[str, Quantized]) -> None:
    found = made[kind]
    assert found.report.float_nodes == ()
    dtypes = {found.integer.type(value).dtype for node in found.integer.nodes for value in node.outputs}
    assert DType.FLOAT32 not in dtypes
    assert found.report.output_sqnr_db > (15 if kind == "int4" else 28)
    assert found.report.agreement_percent is not None
    assert found.report.agreement_percent >= 95


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_c_has_the_integers_bits(kind: str, made: dict[str, Quantized], tmp_path: Path) -> None:
    compiled = compile_graph(made[kind].graph, target_of("host"), name="net")
    assert_bit_exact(compiled, tmp_path, samples=4)
    if kind == "int4":
        # Equal tables of factors are stored once.
        weights = compiled.library.weights_bytes
        assert made[kind].report.weights_bytes - 16 <= weights <= made[kind].report.weights_bytes


def test_no_transposes_stand_inside(made: dict[str, Quantized]) -> None:
    assert [node.op for node in made["int8"].integer.nodes] == [
        "Transpose",
        "Conv2D",
        "DepthwiseConv2D",
        "MaxPool2D",
        "Conv2D",
        "Add",
        "Reshape",
        "FullyConnected",
        "Softmax",
    ]


def test_int4_takes_little_more_than_half(made: dict[str, Quantized]) -> None:
    assert made["int4"].report.weights_bytes <= 0.55 * made["int8"].report.weights_bytes
    assert {layer.weight_bits for layer in made["int4"].report.layers} == {None, 4}


def test_int16_is_finer(made: dict[str, Quantized]) -> None:
    assert made["int16"].report.output_sqnr_db > made["int8"].report.output_sqnr_db + 6


def test_batches_of_samples_give_the_same_model(real: Graph) -> None:
    one = quantize(real, DATA[:16])
    eight = quantize(real, DATA[:16].reshape(2, 8, 3, 8, 8))
    assert one.graph == eight.graph


def test_the_package_is_the_function(real: Graph) -> None:
    assert tinydeploy.quantize(real, DATA[:4]).report.samples == 4
    assert tinydeploy.quantize(real, DATA[:4]).graph == quantize(real, DATA[:4]).graph


def test_options_are_measured(real: Graph) -> None:
    report = quantize(real, DATA, Options(effects=True, equalize=True, adaptive_rounding=True)).report
    assert [effect.option for effect in report.effects] == [
        "batch norm folded",
        "cross-layer equalization",
        "bias correction",
        "adaptive rounding",
    ]
    assert {effect.after_db for effect in report.effects} == {report.output_sqnr_db}


def test_adaptive_rounding_helps_where_steps_are_coarse(real: Graph) -> None:
    plain = quantize(real, DATA, Options(weight_bits=4, adaptive_rounding=False, bias_correction=False))
    adapted = quantize(real, DATA, Options(weight_bits=4, bias_correction=False))
    assert adapted.report.output_sqnr_db > plain.report.output_sqnr_db


@pytest.mark.parametrize("method", list(Method))
def test_every_method_gives_a_good_model(real: Graph, method: Method) -> None:
    assert quantize(real, DATA, Options(method=method)).report.output_sqnr_db > 8


def test_the_report_names_the_outlier(real: Graph) -> None:
    data = DATA.copy()
    data[5, 0, 2, 2] = 1000.0
    report = quantize(real, data).report
    assert (report.outliers[0].tensor, report.outliers[0].sample, report.outliers[0].value) == ("x", 5, 1000)
    assert report.layers[0].extreme_sample == 5
    assert report.layers[0].high < 10
    assert 0 < report.layers[0].clipped_percent < 1
    assert report.output_sqnr_db < 200


def test_a_flash_budget_makes_layers_narrow(real: Graph) -> None:
    report = quantize(real, DATA, Options(budget=Budget(flash_bytes=700))).report
    assert report.weights_bytes <= 700
    assert {layer.weight_bits for layer in report.layers} == {None, 4, 8}


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        (
            Budget(flash_bytes=10),
            r"the weights need \d+ bytes with 4 bits everywhere, --budget-flash allows 10",
        ),
        (
            Budget(ram_bytes=10),
            r"the activations need 1,024 bytes in int8, --budget-ram allows 10.*works is 1024",
        ),
    ],
)
def test_budgets_that_cannot_be_kept(real: Graph, budget: Budget, message: str) -> None:
    with pytest.raises(BudgetError, match=message):
        quantize(real, DATA[:4], Options(budget=budget))


@pytest.mark.slow
def test_int16_tensors_among_int8_ones(real: Graph, tmp_path: Path) -> None:
    options = Options()
    ready = prepare(real, options)
    studied = study(ready, from_arrays([DATA], ready.ports), options)
    groups = tied_groups(ready.graph)
    built = build(studied, options, Precision(wide=frozenset(groups[1]) | frozenset(groups[2])))
    dtypes = [built.integer.type(node.outputs[0]).dtype for node in built.integer.nodes]
    assert {DType.INT8, DType.INT16} == set(dtypes)
    assert_bit_exact(compile_graph(built.graph, target_of("host"), name="net"), tmp_path, samples=3)


def test_a_fused_clamp_survives_a_symmetric_scale() -> None:
    """int16 has room below zero: the clamp of a ReLU must stay in the integer operator."""
    rewriter = Rewriter.empty("clamp")
    image = TensorType(DType.FLOAT32, (1, 2, 2, 1))
    data = rewriter.input("x", image)
    kernel = rewriter.constant(
        "w", TensorType(DType.FLOAT32, (1, 1, 1, 1)), np.full((1, 1, 1, 1), -1, np.float32)
    )
    attrs = Conv2D(activation=Activation.RELU)
    (out,) = rewriter.node("conv", attrs, (data, kernel), (("y", image),))
    rewriter.output(out)
    found = quantize(rewriter.freeze(), np.array([[-1, 1], [2, -2]], np.float32).reshape(1, 2, 2, 1), INT16)
    steps = np.array([-8000, 8000, 32000, -32000], np.int16).reshape(1, 2, 2, 1)
    assert Interpreter(found.integer).run((steps,))[0].min() == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (Options(weight_bits=3), "--weights: 3 bits. Allowed: int8, int4"),
        (Options(activations=DType.INT32), "--activations: int32 is not possible. Allowed: int8, int16"),
        (
            Options(input_type=DType.INT16),
            "--input-type: int16 where activations are int8. Allowed: float32, int8",
        ),
        (Options(output_type=DType.BOOL), "--output-type: bool is not possible. Allowed: int8, uint8, int16"),
    ],
)
def test_choices_that_contradict(real: Graph, options: Options, message: str) -> None:
    with pytest.raises(TinyDeployError, match=message):
        quantize(real, DATA[:2], options)


def test_a_quantized_model_is_refused(made: dict[str, Quantized]) -> None:
    with pytest.raises(
        TinyDeployError, match=r"the model is quantized already: .* has a scale. Give the float"
    ):
        quantize(made["int8"].integer, DATA[:2])


def test_a_model_that_overflows_is_named() -> None:
    model = convolutional()
    with pytest.raises(TinyDeployError, match=r"the data, sample 1: the model computes NaN or infinity in "):
        quantize(graph_of(model), np.stack([DATA[0], np.full((3, 8, 8), 3e38, np.float32)]))


def test_float_interfaces_keep_their_types(real: Graph) -> None:
    options = replace(Options(), input_type=DType.FLOAT32, output_type=DType.FLOAT32)
    graph = quantize(real, DATA[:4], options).integer
    assert [graph.type(value).dtype for value in (*graph.inputs, *graph.outputs)] == [DType.FLOAT32] * 2
    assert graph.nodes[0].op == "Quantize"
    assert graph.nodes[-1].op == "Dequantize"


def test_what_has_no_form_in_onnx_is_listed() -> None:
    rewriter = Rewriter.empty("sums")
    type_ = TensorType(DType.FLOAT32, (1, 4))
    data = rewriter.input("x", type_)
    (out,) = rewriter.node("sums", CumSum(axis=1), (data,), (("y", type_),))
    rewriter.output(out)
    found = quantize(
        rewriter.freeze(), np.ones((2, 4), np.float32), replace(Options(), output_type=DType.FLOAT32)
    )
    assert found.report.float_nodes == ("sums (CumSum)",)
    with pytest.raises(UnsupportedError, match=r"sums \(CumSum\): CumSum is not written; leave the model in"):
        write_onnx(found.graph, Path("never.onnx"))
