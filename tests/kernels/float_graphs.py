"""Graphs of float operators with windows, matrices and norms, on shapes that break blocks of outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.kernels.making import GraphBuilder
from tinydeploy.ir import DType, Graph
from tinydeploy.ops.average_pool_2d import AveragePool2D
from tinydeploy.ops.batch_mat_mul import BatchMatMul
from tinydeploy.ops.conv_2d import Conv2D
from tinydeploy.ops.conv_3d import Conv3D
from tinydeploy.ops.depthwise_conv_2d import DepthwiseConv2D
from tinydeploy.ops.fully_connected import FullyConnected
from tinydeploy.ops.grouped_conv_2d import GroupedConv2D
from tinydeploy.ops.local_response_norm import LocalResponseNorm
from tinydeploy.ops.log_softmax import LogSoftmax
from tinydeploy.ops.lp_pool_2d import LpPool2D
from tinydeploy.ops.max_pool_2d import MaxPool2D
from tinydeploy.ops.max_pool_indices import MaxPoolIndices
from tinydeploy.ops.normalization import Norm, Normalization
from tinydeploy.ops.quantized import Activation
from tinydeploy.ops.softmax import Softmax
from tinydeploy.ops.transpose_conv import TransposeConv
from tinydeploy.ops.transpose_conv_3d import TransposeConv3D


class Floats(GraphBuilder):
    """Normally distributed constants, by shape."""

    def __init__(self) -> None:
        super().__init__()
        self._random = np.random.default_rng(5)

    def image(self, *shape: int) -> int:
        return self.input(DType.FLOAT32, shape)

    def normal(self, *shape: int) -> int:
        return self.constant(self._random.normal(size=shape).astype(np.float32))


SAME = ((1, 1), (1, 1))
WINDOWS: tuple[tuple[tuple[int, int], dict[str, Any]], ...] = (
    ((3, 3), {"stride": (2, 2), "padding": ((0, 1), (1, 1)), "activation": Activation.RELU6}),
    ((1, 1), {}),
    ((2, 3), {"stride": (1, 2), "dilation": (2, 2), "padding": ((2, 1), (3, 2))}),
    ((5, 5), {"padding": ((4, 4), (4, 4)), "activation": Activation.RELU}),
    ((7, 6), {"activation": Activation.RELU_N1_TO_1}),
)
"""Of images 7 by 6: borders on one side and on both, and none; windows as large as the image."""


def convolutions(batch: int) -> Graph:
    """Every kind of convolution; weights of the run; 1 to 9 channels, so that blocks overlap."""
    graph = Floats()
    x = graph.image(batch, 7, 6, 4)
    graph.node(Conv2D(padding=SAME), x, graph.image(6, 3, 3, 4), graph.image(6))
    graph.node(DepthwiseConv2D(padding=SAME), x, graph.image(1, 3, 3, 4), None)
    for number, (kernel, attrs) in enumerate(WINDOWS):
        channels = (3, 9, 5, 4, 1)[number]
        bias = graph.normal(channels) if number % 2 else None
        graph.node(Conv2D(**attrs), x, graph.normal(channels, *kernel, 4), bias)
        graph.node(GroupedConv2D(**attrs), x, graph.normal(10, *kernel, 2), graph.normal(10))
        for multiplier in (1, 3, 5):
            outputs = 4 * multiplier
            bias = graph.normal(outputs) if number % 2 else None
            graph.node(DepthwiseConv2D(**attrs), x, graph.normal(1, *kernel, outputs), bias)
    return graph.freeze()


def volumes() -> Graph:
    """3-D and transposed convolutions."""
    graph = Floats()
    x = graph.image(2, 4, 5, 3, 4)
    padding = ((1, 0), (2, 1), (0, 1))
    graph.node(Conv3D((1, 2, 1), (2, 1, 1), padding), x, graph.normal(5, 2, 3, 2, 4), graph.normal(5))
    graph.node(Conv3D(activation=Activation.RELU), x, graph.normal(6, 1, 2, 3, 2))
    graph.node(TransposeConv3D((5, 8, 7), (1, 2, 3), (1, 0, 0)), x, graph.normal(3, 3, 2, 2, 4))
    weights = graph.normal(6, 2, 1, 2, 2)
    graph.node(TransposeConv3D((6, 5, 4), dilation=(2, 1, 1), groups=2), x, weights, graph.normal(6))
    image = graph.image(2, 4, 3, 4)
    for size, stride, before, dilation in (
        ((8, 6), (2, 2), (0, 0), (1, 1)),
        ((9, 10), (2, 3), (1, 0), (1, 1)),
        ((5, 4), (1, 1), (1, 0), (2, 1)),
        ((11, 9), (3, 4), (0, 1), (2, 2)),
    ):
        attrs = TransposeConv(size, stride, before, dilation=dilation)
        graph.node(attrs, image, graph.normal(5, 3, 2, 4), graph.normal(5))
        attrs = TransposeConv(size, stride, before, Activation.RELU6, dilation=dilation, groups=2)
        graph.node(attrs, image, graph.normal(4, 3, 2, 2))
    return graph.freeze()


def matrices() -> Graph:
    graph = Floats()
    for rows in (1, 5):
        data = graph.image(rows, 17)
        for outputs in (2, 3, 4, 9):
            weights = graph.normal(outputs, 17)
            graph.node(FullyConnected(Activation.RELU), data, weights, graph.normal(outputs))
            graph.node(FullyConnected(keep_dims=True), data, weights)
    graph.node(FullyConnected(), graph.image(2, 3, 4), graph.image(5, 12), graph.image(5))
    for exchanges in ((False, False), (False, True), (True, False), (True, True)):
        for a, b in (
            ((2, 3, 4, 7), (3, 7, 5)),
            ((1, 7), (2, 7, 3)),
            ((4, 1, 3, 2), (2, 2, 1)),
            ((5, 7), (7, 8)),
        ):
            sides = [
                (*shape[:-2], shape[-1], shape[-2]) if exchanged else shape
                for shape, exchanged in zip((a, b), exchanges, strict=True)
            ]
            graph.node(BatchMatMul(*exchanges), graph.image(*sides[0]), graph.image(*sides[1]))
    return graph.freeze()


def pools(batch: int) -> Graph:
    graph = Floats()
    x = graph.image(batch, 7, 6, 3)
    for kind, extra in (
        (AveragePool2D, {}),
        (AveragePool2D, {"count_include_pad": True}),
        (MaxPool2D, {}),
        (LpPool2D, {"order": 1}),
        (LpPool2D, {"order": 2}),
        (LpPool2D, {"order": 3}),
    ):
        graph.node(kind((2, 2), (2, 2), **extra), x)
        graph.node(kind((3, 3), (2, 2), ((1, 1), (1, 0)), beyond=(1, 1), **extra), x)
        spread = kind((3, 2), (1, 1), ((2, 2), (1, 0)), dilation=(2, 1), activation=Activation.RELU, **extra)
        graph.node(spread, x)
        graph.node(kind((7, 6), (1, 1), **extra), x)
    graph.node(MaxPoolIndices((3, 2), (2, 1), SAME), x)
    graph.node(MaxPoolIndices((2, 2), (2, 2), dilation=(2, 1), columns_first=True), x)
    for dtype in (DType.UINT8, DType.INT8, DType.INT32, DType.INT64):
        integers = graph.input(dtype, (batch, 5, 4, 3))
        graph.node(MaxPool2D((2, 2), (1, 1), ((1, 1), (0, 1))), integers)
    graph.node(MaxPoolIndices((2, 2), (1, 1), ((1, 1), (0, 1))), integers)
    return graph.freeze()


def normalizations() -> Graph:
    graph = Floats()
    x = graph.image(2, 3, 4, 6)
    for norm in Norm:
        for axes in ((3,), (1, 2), (0, 2), (0, 1, 2, 3)):
            graph.node(Normalization(axes, norm, 0.5 if norm in (Norm.L1, Norm.L2) else 1e-5), x)
    graph.node(Normalization((1,), Norm.L2, 0.0), x)
    graph.node(Normalization((3,)), x, graph.normal(6), graph.image(6))
    graph.node(Normalization((1, 2)), x, graph.normal(1, 1, 1, 6), graph.normal(6))
    graph.node(Normalization((2, 3)), x, None, graph.normal(3, 1, 1))
    graph.node(Normalization((2,), Norm.ROOT_MEAN_SQUARE), x, graph.normal(4, 1))
    for operator in (Softmax(), Softmax(beta=0.5), LogSoftmax()):
        graph.node(operator, x)
        graph.node(operator, graph.image(1))
    graph.node(LocalResponseNorm(1, 2, 0.3, 0.75, 1.0), x)
    graph.node(LocalResponseNorm(9, 9, 0.01, 0.5, 2.0), x)
    return graph.freeze()


GRAPHS = {
    "convolutions": convolutions(1),
    "convolutions_of_a_batch": convolutions(2),
    "volumes": volumes(),
    "matrices": matrices(),
    "pools": pools(1),
    "pools_of_a_batch": pools(3),
    "normalizations": normalizations(),
}
