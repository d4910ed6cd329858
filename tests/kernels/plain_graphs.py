"""Graphs of plain operators side by side: every function, every element type, every way to broadcast."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.kernels.making import GraphBuilder
from tinydeploy.ir import Array, Attrs, DType, Graph
from tinydeploy.ops.add import Add
from tinydeploy.ops.arg_max import ArgMax
from tinydeploy.ops.arg_min import ArgMin
from tinydeploy.ops.binary_function import MEANINGS as BINARY
from tinydeploy.ops.binary_function import Binary, BinaryFunction
from tinydeploy.ops.cast import Cast
from tinydeploy.ops.clip import Clip
from tinydeploy.ops.compare import Compare, Relation
from tinydeploy.ops.cum_sum import CumSum
from tinydeploy.ops.hard_swish import HardSwish
from tinydeploy.ops.leaky_relu import LeakyRelu
from tinydeploy.ops.logical import Logical, LogicalFunction
from tinydeploy.ops.logistic import Logistic
from tinydeploy.ops.maximum import Maximum
from tinydeploy.ops.mean import Mean
from tinydeploy.ops.minimum import Minimum
from tinydeploy.ops.mul import Mul
from tinydeploy.ops.plain import EVERY, INTEGERS, NUMBERS, SIGNED
from tinydeploy.ops.prelu import Prelu
from tinydeploy.ops.quantized import Activation
from tinydeploy.ops.reduce import FRACTIONAL, Reduce, ReduceFunction
from tinydeploy.ops.reduce_max import ReduceMax
from tinydeploy.ops.reduce_min import ReduceMin
from tinydeploy.ops.relu import Relu
from tinydeploy.ops.sub import Sub
from tinydeploy.ops.sum import Sum
from tinydeploy.ops.tanh import Tanh
from tinydeploy.ops.top_k import TopK
from tinydeploy.ops.unary_function import MEANINGS as UNARY
from tinydeploy.ops.unary_function import Unary, UnaryFunction
from tinydeploy.ops.where import Where

_F = UnaryFunction
PARAMETERS: dict[UnaryFunction, Sequence[tuple[float, float]]] = {
    _F.CELU: ((1.0, 0.0), (2.5, 0.0)),
    _F.ELU: ((1.0, 0.0), (0.3, 0.0)),
    _F.HARD_SIGMOID: ((0.2, 0.5), (1 / 6, 0.5)),
    _F.IS_INF: ((1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0)),
    _F.SELU: ((1.67326324, 1.05070099),),
    _F.SHRINK: ((0.5, 0.0), (1.5, 1.5)),
    _F.SWISH: ((1.0, 0.0), (1.702, 0.0)),
    _F.THRESHOLDED_RELU: ((1.0, 0.0), (-0.5, 0.0)),
}

SPECIAL = np.array(
    [
        *(
            0.0,
            -0.0,
            0.5,
            -0.5,
            1.5,
            2.5,
            -2.5,
            1.0,
            -1.0,
            np.inf,
            -np.inf,
            np.nan,
            1e-40,
            -1e-40,
            3e38,
            -3e38,
        ),
        *np.linspace(-7, 7, 100),
        *(10.0 ** np.arange(-30.0, 31, 3)),
        *(-(10.0 ** np.arange(-30.0, 31, 3))),
    ],
    np.float32,
)
"""Floats at which functions bend."""


def edges(dtype: DType, shape: Sequence[int], seed: int = 0) -> Array:
    """Numbers of a type, the ends of its range and small ones above all."""
    generator = np.random.default_rng(seed)
    if dtype is DType.FLOAT32:
        drawn = np.where(
            generator.random(tuple(shape)) < 0.1, generator.choice(SPECIAL[:16], tuple(shape)), 0
        )
        return np.where(drawn == 0, generator.normal(size=tuple(shape)) * 3, drawn).astype(np.float32)
    if dtype is DType.BOOL:
        return generator.random(tuple(shape)) < 0.5
    low, high = dtype.limits
    ends = np.array([low, low + 1, high, high - 1, max(low, -1), 0, 1, 2, 3, 5, 7, 13], dtype.numpy)
    return generator.choice(ends, tuple(shape))


class Plain:
    """A graph of plain nodes and one sample for its inputs."""

    def __init__(self) -> None:
        self.builder = GraphBuilder()
        self.sample: list[Array] = []

    def input(self, array: Array) -> int:
        self.sample.append(array)
        return self.builder.input(DType(str(array.dtype)), array.shape)

    def edges(self, dtype: DType, *shape: int) -> int:
        return self.input(edges(dtype, shape, len(self.sample)))

    def node(self, attrs: Attrs, *inputs: int) -> int:
        return self.builder.node(attrs, *inputs)[0]


def functions() -> Plain:
    """Every function of one float, of all that can go wrong."""
    plain = Plain()
    data = plain.input(SPECIAL)
    for function, meaning in UNARY.items():
        if DType.FLOAT32 in meaning.types:
            for alpha, beta in PARAMETERS.get(function, ((0.0, 0.0),)):
                plain.node(Unary(function, alpha, beta), data)
    for attrs in (Logistic(), Tanh(), HardSwish(), LeakyRelu(0.1), LeakyRelu(-2.0)):
        plain.node(attrs, data)
    for activation in Activation:
        plain.node(Relu(activation), data)
    for low, high in ((None, None), (-1.5, None), (None, 2.0), (-1.0, 1.0), (2.0, -2.0)):
        plain.node(Clip(low, high), data)
    return plain


def integers_of_one() -> Plain:
    plain = Plain()
    for dtype in EVERY:
        data = plain.edges(dtype, 3, 17)
        for function, meaning in UNARY.items():
            if dtype in meaning.types and dtype is not DType.FLOAT32:
                plain.node(Unary(function), data)
        for to in EVERY:
            plain.node(Cast(to), data)
        if dtype in INTEGERS:
            low, high = dtype.limits
            for bounds in ((low, high), (None, 5), (1, None), (5, 3)):
                plain.node(Clip(*bounds), data)
            plain.node(Relu(Activation.RELU6), data)
    plain.node(Cast(DType.INT32), plain.input(SPECIAL))
    plain.node(Cast(DType.INT64), plain.input(SPECIAL))
    return plain


def pairs(dtype: DType) -> Plain:
    """Every function of two numbers of one type."""
    plain = Plain()
    a, b = plain.edges(dtype, 8, 30), plain.edges(dtype, 8, 30)
    if dtype is DType.BOOL:
        for logical in LogicalFunction:
            plain.node(Logical(logical), a, b)
    if dtype in NUMBERS:
        for attrs in (Add(), Sub(), Mul(), Minimum(), Maximum(), Add(Activation.RELU6)):
            plain.node(attrs, a, b)
        for function, meaning in BINARY.items():
            if dtype in meaning.types and function is not BinaryFunction.POW:
                plain.node(Binary(function), a, b)
        for other in (DType.FLOAT32, DType.INT32, DType.INT64):
            exponents = np.random.default_rng(4).integers(-4, 6, (8, 30)) / (
                2 if other is DType.FLOAT32 else 1
            )
            base = a if other is not DType.FLOAT32 else plain.input(small(dtype, (8, 30)))
            plain.node(Binary(BinaryFunction.POW), base, plain.input(exponents.astype(other.numpy)))
    if dtype in (DType.FLOAT32, *SIGNED):
        plain.node(Prelu(), a, b)
    for relation in Relation:
        plain.node(Compare(relation), a, b)
    plain.node(Where(), plain.edges(DType.BOOL, 8, 30), a, b)
    return plain


def broadcasts() -> Plain:
    """Every way to broadcast, constants at either side, more than four dimensions, single numbers."""
    plain = Plain()
    image = plain.edges(DType.FLOAT32, 1, 5, 4, 3)
    shapes = (
        (1, 5, 4, 3),
        (1, 1, 1, 3),
        (1, 5, 1, 1),
        (4, 1),
        (1,),
        (5, 1, 3),
        (),
        (2, 5, 4, 3),
        (2, 1, 1, 1, 1, 1),
    )
    for index, shape in enumerate(shapes):
        other = plain.builder.constant(edges(DType.FLOAT32, shape, index))
        plain.node(Add(), image, other)
        plain.node(Sub(), other, image)
        plain.node(Where(), plain.edges(DType.BOOL, 1, 5, 1, 3), other, image)
    plain.node(Mul(), image, image)
    wide = plain.edges(DType.INT32, 2, 1, 3, 1, 2, 1, 5)
    plain.node(Binary(BinaryFunction.MOD), wide, plain.edges(DType.INT32, 4, 1, 3, 1, 2, 1))
    plain.node(Add(), plain.edges(DType.INT64), plain.edges(DType.INT64))
    return plain


def reductions(dtype: DType) -> Plain:
    plain = Plain()
    data = plain.input(small(dtype, (2, 5, 4, 3)))
    kinds = [ReduceMax, ReduceMin]
    functions: list[ReduceFunction] = []
    if dtype in NUMBERS:
        kinds += [Sum, Mean]
        functions = [f for f in ReduceFunction if dtype is DType.FLOAT32 or f not in FRACTIONAL]
    for axes in ((), (1, 2), (3,), (0, 1, 2, 3), (1, 3)):
        for kind in kinds:
            plain.node(kind(axes, keep_dims=axes == (3,)), data)
        for function in functions:
            plain.node(Reduce(function, axes), data)
    if dtype not in NUMBERS:
        return plain
    ties = plain.input(edges(dtype, (3, 7, 4), 3))
    for axis in range(3):
        for attrs in (ArgMax, ArgMin):
            plain.node(attrs((axis,), True, axis != 1, DType.INT32 if axis else DType.INT64), ties)
        for largest in (False, True):
            plain.node(TopK(2, axis, largest), ties)
        plain.node(TopK((3, 7, 4)[axis], axis, index=DType.INT32), ties)
        plain.node(CumSum(axis), data)
        plain.node(CumSum(axis, reverse=axis == 2, product=True), data)
        plain.node(CumSum(axis, exclusive=True), data)
        plain.node(CumSum(axis, exclusive=axis == 1, reverse=True), data)
    return plain


def long_sums() -> Plain:
    """Sums of many floats keep their precision."""
    plain = Plain()
    data = plain.input((np.random.default_rng(1).random((3, 40000)) + 0.5).astype(np.float32))
    for attrs in (
        Sum((1,)),
        Mean((1,)),
        Reduce(ReduceFunction.L2, (1,)),
        Reduce(ReduceFunction.LOG_SUM_EXP, (0, 1)),
    ):
        plain.node(attrs, data)
    return plain


def small(dtype: DType, shape: Sequence[int]) -> Array:
    """Numbers whose sums and products stay in range where they are floats."""
    if dtype is DType.FLOAT32:
        return (np.random.default_rng(2).random(tuple(shape)) + 0.1).astype(np.float32)
    return (
        np.random.default_rng(2).integers(-50 if dtype in SIGNED else 0, 99, tuple(shape)).astype(dtype.numpy)
    )


WIDTHS = (DType.FLOAT32, DType.INT8, DType.INT64, DType.UINT32, DType.BOOL)
"""Types that differ in the C of their kernels."""

PLAIN = {
    "functions": functions(),
    "integers": integers_of_one(),
    **{f"pairs_{dtype.value}": pairs(dtype) for dtype in (*WIDTHS, DType.UINT16, DType.INT32)},
    "broadcasts": broadcasts(),
    **{f"reductions_{dtype.value}": reductions(dtype) for dtype in WIDTHS},
    "long_sums": long_sums(),
}
GRAPHS: dict[str, tuple[Graph, tuple[Array, ...]]] = {
    name: (plain.builder.freeze(), tuple(plain.sample)) for name, plain in PLAIN.items()
}
