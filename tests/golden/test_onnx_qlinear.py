"""QLinear operators, com.microsoft ones too, against onnxruntime; scales of the run; weights of 4 bits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.golden.ort_nodes import assert_close, every_value, integer_graph
from tests.golden.qdq_models import QdqBuilder
from tests.golden.test_onnx_quantized import floats_of
from tests.running import assert_bit_exact
from tinydeploy.build import compile_graph
from tinydeploy.frontends.onnx import load_bytes
from tinydeploy.ir import Array, DType
from tinydeploy.kernels.targets import TARGETS
from tinydeploy.ops.interpreter import Interpreter


class QLinear(QdqBuilder):
    """Nodes on integers: operands are triples of steps, scale and zero point."""

    def steps(self, *shape: int, scale: float = 0.05, zero_point: int = 3) -> tuple[str, str, str]:
        name = f"in{len(self.inputs)}"
        kind = getattr(TensorProto, self.dtype.upper())
        self.inputs.append(helper.make_tensor_value_info(name, kind, list(shape)))
        self.feeds[name] = shape
        return (name, *self.scaled(scale, zero_point))

    def scaled(self, scale: float, zero_point: int) -> tuple[str, str]:
        return self._quant(scale, zero_point)

    def matrix(self, *shape: int, axis: int | None = None) -> tuple[str, str, str]:
        """Constant weights of 7 bits: onnxruntime's uint8 by int8 saturates beyond, on some CPUs."""
        steps = self.random.integers(-64, 63, shape, endpoint=True).astype(np.int8)
        count = () if axis is None else (shape[axis],)
        scale = self.random.uniform(0.002, 0.01, count).astype(np.float32)
        return (
            self.constant(steps),
            self.constant(np.asarray(scale)),
            self.constant(np.zeros(count, np.int8)),
        )

    def result(self, op: str, *inputs: str, domain: str = "com.microsoft", **attributes: object) -> None:
        made = self.node(op, *inputs, domain=domain, **attributes)
        kind = getattr(TensorProto, self.dtype.upper())
        self.outputs.append(helper.make_tensor_value_info(made, kind, None))


def convolution(b: QLinear) -> None:
    x, w, y = b.steps(1, 3, 6, 5), b.matrix(4, 3, 3, 3, axis=0), b.scaled(0.1, -6)
    bias = b.constant(b.random.integers(-900, 900, 4).astype(np.int32))
    b.result("QLinearConv", *x, *w, *y, bias, domain="", pads=[1, 1, 1, 1])


def products(b: QLinear) -> None:
    x = b.steps(3, 8)
    b.result("QLinearMatMul", *x, *b.matrix(8, 5, axis=1), *b.scaled(0.05, 4), domain="")
    b.result("QLinearMatMul", *x, *b.steps(8, 4, scale=0.02), *b.scaled(0.03, 4), domain="")
    bias = b.constant(b.random.integers(-900, 900, 5).astype(np.int32))
    b.result("QGemm", *x, *b.matrix(5, 8), bias, *b.scaled(0.05, 4), transB=1, alpha=1.0)


def elementwise(b: QLinear) -> None:
    x, y = b.steps(2, 3, 4), b.steps(3, 1, scale=0.07, zero_point=-30)
    b.result("QLinearAdd", *x, *y, *b.scaled(0.09, 2))
    b.result("QLinearMul", *x, *y, *b.scaled(0.2, 2))
    b.result("QLinearSigmoid", *x, *b.scaled(1 / 256, -128))
    b.result("QLinearLeakyRelu", *x, *b.scaled(0.05, 9), alpha=0.3)
    b.result("QLinearSoftmax", *x, *b.scaled(1 / 256, -128), axis=-1, opset=13)


def images(b: QLinear) -> None:
    x, y = b.steps(1, 3, 8, 10), b.steps(1, 2, 8, 10, scale=0.08, zero_point=-3)
    b.result("QLinearAveragePool", *x, *b.scaled(0.04, 1), kernel_shape=[2, 2], strides=[2, 2])
    b.result("QLinearGlobalAveragePool", *x, *b.scaled(0.02, 1))
    b.result("QLinearConcat", *b.scaled(0.06, 0), *x, *y, axis=1)
    condition = b.constant(b.random.integers(0, 2, (1, 1, 8, 10)).astype(np.bool_))
    z = b.steps(1, 3, 8, 10, scale=0.02)
    b.result("QLinearWhere", condition, *x, *z, *b.scaled(0.06, 0))


CASES: tuple[Callable[[QLinear], None], ...] = (convolution, products, elementwise, images)


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("case", CASES)
def test_qlinear_operators_are_a_step_from_onnxruntime_at_most(
    case: Callable[[QLinear], None], dtype: str
) -> None:
    builder = QLinear(3, dtype)
    case(builder)
    assert not floats_of(integer_graph(builder.model()))
    assert_close(builder.model(), builder.samples(3))


def test_qlinear_reduce_mean() -> None:
    """onnxruntime has no kernel for it on CPUs."""
    builder = QLinear(2)
    builder.result(
        "QLinearReduceMean", *builder.steps(2, 3, 4), *builder.scaled(0.03, 1), axes=[1], keepdims=1
    )
    (feeds,) = builder.samples(1)
    (result,) = Interpreter(integer_graph(builder.model())).run((feeds["in0"],))
    mean = ((feeds["in0"] - 3.0) * 0.05).mean(axis=1, keepdims=True)
    assert np.abs(result - np.clip(np.rint(mean / 0.03) + 1, -128, 127)).max() <= 1


def _int4_weights(builder: QdqBuilder, shape: tuple[int, int], scale: Array, **options: Any) -> str:
    steps = builder.random.integers(-8, 7, shape, endpoint=True).astype(ml_dtypes.int4)
    name = f"w{len(builder.initializers)}"
    builder.initializers.append(onnx.numpy_helper.from_array(steps, name))
    return builder.node("DequantizeLinear", name, builder.constant(scale.astype(np.float32)), **options)


def test_weights_of_4_bits_stay_so(tmp_path: Path) -> None:
    builder = QdqBuilder()
    weights = _int4_weights(builder, (8, 5), scale=builder.random.uniform(0.01, 0.1, 5), axis=1)
    builder.output(builder.node("MatMul", builder.input((2, 8)), weights), 0.1, 3)
    graph = integer_graph(builder.model())
    (dense,) = graph.nodes
    assert dense.inputs[1] is not None
    assert graph.type(dense.inputs[1]).dtype is DType.INT4
    assert_close(builder.model(), builder.samples(3))
    compiled = compile_graph(load_bytes(builder.model().SerializeToString(), "m"), TARGETS["cortex-m4"])
    assert_bit_exact(compiled, tmp_path)


def test_weights_in_blocks_are_read_as_they_are() -> None:
    """Scales along the inner axis leave the product in float32, with the numbers of the model."""
    builder = QdqBuilder()
    scale = builder.random.uniform(0.01, 0.1, (2, 5))
    weights = _int4_weights(builder, (8, 5), scale=scale, axis=0, block_size=4)
    builder.output(builder.node("MatMul", builder.input((2, 8)), weights), 0.1, 3)
    assert_close(builder.model(), builder.samples(3))


def test_scales_of_the_run(tmp_path: Path) -> None:
    """Dynamic quantization: onnxruntime's own values, and our C."""
    b = QdqBuilder(4)
    b.inputs.append(helper.make_tensor_value_info("x", TensorProto.FLOAT, [3, 300]))
    made = ["steps", "scale", "point"]
    b.nodes.append(helper.make_node("DynamicQuantizeLinear", ["x"], made, name="dynamic"))
    weights = b.constant(b.random.integers(-64, 60, (300, 4), endpoint=True).astype(np.int8))
    zero_points = b.constant(np.array([1, -2, 3, 0], np.int8))
    sums = b.node("MatMulInteger", "steps", weights, "point", zero_points)
    real = b.node("Mul", b.node("Cast", sums, to=TensorProto.FLOAT), b.node("Mul", "scale", b.number(0.01)))
    b.outputs.append(helper.make_tensor_value_info(real, TensorProto.FLOAT, None))
    b.outputs.append(helper.make_tensor_value_info(sums, TensorProto.INT32, None))
    data = b.random.standard_normal((3, 300)).astype(np.float32)
    graph = load_bytes(b.model().SerializeToString(), "m")
    wanted = every_value(b.model(), {"x": data})
    numbers, whole = Interpreter(graph).run((data,))
    np.testing.assert_array_equal(whole, wanted[sums])
    np.testing.assert_allclose(numbers, wanted[real], rtol=1e-5)
    assert_bit_exact(compile_graph(graph, TARGETS["cortex-m4"]), tmp_path)
