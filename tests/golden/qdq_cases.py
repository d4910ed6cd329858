"""Quantized operators in the surroundings that exporters give them; several may share one graph."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.golden.qdq_models import QdqBuilder

Case = Callable[[QdqBuilder], object]


def conv(b: QdqBuilder) -> None:
    x = b.input((1, 4, 7, 6))
    bias = b.bias([0.1, 0.2, -0.3, 0.4, 0])
    weights = b.weights(5, 4, 3, 3, axis=0, spread=0.3)
    b.output(b.node("Conv", x, weights, bias, pads=[1, 1, 1, 1]), 0.2)


def conv_relu(b: QdqBuilder) -> None:
    x = b.input((1, 4, 7, 6))
    weights = b.weights(5, 4, 3, 3, spread=0.3)
    b.output(b.node("Relu", b.node("Conv", x, weights, strides=[2, 2])), 0.2, b.lowest)
    clipped = b.node("Conv", x, b.weights(3, 4, 1, 1), b.real(3))
    b.output(b.node("Clip", clipped, b.number(-0.7), b.number(1.9)), 0.02, 3)


def conv_groups(b: QdqBuilder) -> None:
    x = b.input((1, 6, 7, 6))
    y = b.between(b.node("Conv", x, b.weights(6, 1, 3, 3, axis=0), group=6), 0.1, 0)
    b.output(b.node("Conv", y, b.weights(4, 3, 1, 1, axis=0), group=2), 0.3)


def conv_ties(b: QdqBuilder) -> None:
    """Scales that are powers of two: float32 is exact, and many sums end half-way between two steps."""
    x = b.input((1, 8, 6, 5), 0.5, 0)
    for shape, groups in (((4, 8, 1, 1), 1), ((8, 1, 3, 3), 8), ((4, 8, 3, 2), 1), ((8, 2, 2, 2), 4)):
        steps = b.random.integers(-3, 4, shape).astype(np.int8)
        scale, zero = b.constant(np.array(0.25, np.float32)), b.constant(np.array(0, np.int8))
        weights = b.node("DequantizeLinear", b.constant(steps), scale, zero)
        b.output(b.node("Conv", x, weights, group=groups), 4.0, 1)
    b.output(b.node("AveragePool", x, kernel_shape=[2, 2]), 1.0, 0)
    b.output(b.node("Add", x, x), 2.0, 0)
    b.output(b.node("Mul", x, b.between(x, 0.5, 0)), 16.0, 0)


def conv_1d(b: QdqBuilder) -> None:
    x = b.input((1, 3, 11))
    b.output(b.node("Conv", x, b.weights(4, 3, 3, axis=0), b.bias([1, 2, 3, 4]), strides=[2]), 0.3)


def conv_transpose(b: QdqBuilder) -> None:
    x = b.input((1, 4, 4, 6))
    b.output(b.node("ConvTranspose", x, b.weights(4, 3, 3, 3), strides=[2, 2]), 0.5, 0)


def trained(b: QdqBuilder) -> None:
    """Weights as quantization-aware training leaves them: floats between two nodes of their own."""
    x = b.input((2, 6))
    weights = b.node(
        "QuantizeLinear",
        b.real(4, 6),
        b.constant(np.full(4, 0.011, np.float32)),
        b.constant(np.zeros(4, np.int8)),
        axis=0,
    )
    y = b.node(
        "DequantizeLinear",
        weights,
        b.constant(np.full(4, 0.011, np.float32)),
        b.constant(np.zeros(4, np.int8)),
        axis=0,
    )
    b.output(b.node("Gemm", x, y, b.real(4), transB=1), 0.07, 2)


def matmul_add(b: QdqBuilder) -> None:
    x = b.input((3, 8))
    y = b.between(b.node("MatMul", x, b.weights(8, 5, axis=1)), 0.1, 7)
    b.output(b.node("Add", b.node("MatMul", y, b.weights(5, 6)), b.bias([1, 2, 3, 4, 5, 6])), 0.2, 0)


def matmul_two(b: QdqBuilder) -> None:
    x, y = b.input((2, 3, 8)), b.input((2, 8, 4), 0.07, -4)
    b.output(b.node("MatMul", x, y), 0.4, 2)


def gemm(b: QdqBuilder) -> None:
    x = b.input((3, 8))
    weights, bias = b.weights(8, 5, axis=1), b.bias([1, 2, 3, 4, 5])
    b.output(b.node("Gemm", x, weights, bias, alpha=0.5, beta=2.0), 0.1, 7)


def pools(b: QdqBuilder) -> None:
    x = b.input((1, 4, 6, 6))
    b.output(b.node("AveragePool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]), 0.04, 1)
    counted = b.node("AveragePool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
    b.output(counted, 0.03, 1)
    b.output(b.node("GlobalAveragePool", x), 0.02)
    b.output(b.node("MaxPool", x, kernel_shape=[2, 2]), 0.05, 3)
    b.output(b.node("MaxPool", x, kernel_shape=[2, 2], strides=[2, 1]), 0.07, 4)


def reductions(b: QdqBuilder) -> None:
    x = b.input((1, 4, 6, 6))
    b.output(b.node("ReduceMean", x, b.constant(np.array([2, 3]))), 0.02, 3)
    b.output(b.node("ReduceSum", x, b.constant(np.array([1])), keepdims=0), 0.1, 3)
    b.output(b.node("ReduceMax", x, b.constant(np.array([3]))), 0.05, 3)


def resizes(b: QdqBuilder) -> None:
    x = b.input((1, 2, 4, 5), 0.05, 3)
    scales = b.constant(np.array([1, 1, 2, 2.5], np.float32))
    b.output(b.node("Resize", x, "", scales, mode="linear"), 0.05, 3)
    b.output(b.node("Resize", x, "", scales, mode="cubic"), 0.07, -4)
    b.output(b.node("Resize", x, "", scales, mode="nearest"), 0.05, 3)


def softmax(b: QdqBuilder) -> None:
    x = b.input((4, 10), 0.11, 5)
    b.output(b.node("Softmax", x), 1 / 256, b.lowest)
    b.output(b.node("Softmax", x, axis=0), 0.004, 8)
    b.output(b.node("LogSoftmax", x), 0.1, 100)


def normalizations(b: QdqBuilder) -> None:
    x = b.input((3, 4, 16), 0.08, 9)
    b.output(b.node("LayerNormalization", x, b.real(16), b.real(16)), 0.03, 4)
    b.output(b.node("LayerNormalization", x, b.weights(16), epsilon=0.01), 0.02, 4)
    y = b.input((1, 6, 4, 4), 0.08, 9)
    b.output(b.node("InstanceNormalization", y, b.real(6), b.real(6)), 0.03, 4)
    b.output(b.node("GroupNormalization", y, b.real(6), b.real(6), num_groups=2), 0.03, 4)


def binary(b: QdqBuilder) -> None:
    x, y = b.input((1, 3, 4, 5)), b.input((1, 3, 4, 5), 0.09, -20)
    for op, scale in (("Add", 0.1), ("Sub", 0.12), ("Mul", 0.3), ("Max", 0.1), ("Min", 0.09), ("Div", 0.05)):
        b.output(b.node(op, x, y), scale, -2)
    b.output(b.node("Concat", x, y, axis=1), 0.08, 0)
    b.output(b.node("Relu", b.node("Add", x, b.real(3, 1, 1))), 0.05, 0)
    b.output(b.node("Mul", x, b.weights(1, 3, 1, 1)), 0.05, 0)
    b.output(b.node("Div", x, b.real(3, 1, 1)), 0.05, 0)
    b.output(b.node("PRelu", x, b.weights(3, 1, 1)), 0.05, 0)
    b.output(b.node("Mul", x, b.node("Sigmoid", y)), 0.05, 0)


def functions(b: QdqBuilder) -> None:
    x = b.input((2, 9), 0.06, 7)
    b.output(b.node("Sigmoid", x), 1 / 256, b.lowest)
    b.output(b.node("Mul", x, b.node("Sigmoid", x)), 0.05, -9)
    b.output(b.node("LeakyRelu", x, alpha=0.2), 0.05, 0)
    b.output(b.node("Tanh", b.node("Add", x, b.number(0.5))), 1 / 128, 0)
    b.output(x, 0.03, 3)
    b.output(b.between(x, 0.05, 3), 0.05, 3)


def moves(b: QdqBuilder) -> None:
    x = b.input((2, 9), 0.06, 7)
    shaped = b.node("Reshape", x, b.constant(np.array([2, 3, 3])))
    turned = b.node("Transpose", shaped, perm=[2, 0, 1])
    b.output(b.node("Relu", turned), 0.06, 7)
    first, last, axis = (b.constant(np.array([number])) for number in (1, 3, 0))
    b.output(b.node("Slice", turned, first, last, axis), 0.06, 7)
    b.output(b.node("Pad", turned, b.constant(np.array([0, 1, 0, 2, 0, 0]))), 0.06, 7)


CASES: dict[str, Case] = {
    case.__name__: case
    for case in (
        binary,
        conv,
        conv_1d,
        conv_groups,
        conv_relu,
        conv_ties,
        conv_transpose,
        functions,
        gemm,
        matmul_add,
        matmul_two,
        moves,
        normalizations,
        pools,
        reductions,
        resizes,
        softmax,
        trained,
    )
}
