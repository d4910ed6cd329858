"""For every operator a sound node, nodes that break each limit of support, and shapes it cannot take."""

from __future__ import annotations

import dataclasses

import numpy as np

from tests.ops import (
    elementwise,
    floats,
    indexed,
    integer,
    moves,
    plain,
    recurrent,
    reductions,
    stateful,
    windows,
)
from tests.ops.floats import float_dot_limits, float_limits, plain_image_limits
from tests.ops.making import (
    ACTIVATIONS,
    FAR,
    IMAGE,
    Broken,
    Case,
    dot,
    dot_limits,
    float32,
    image_limits,
    int8,
    site,
    wide_zero_limit,
    with_input,
    with_output,
)
from tinydeploy.fixed_point import Rounding
from tinydeploy.ops.add import Add
from tinydeploy.ops.average_pool_2d import AveragePool2D
from tinydeploy.ops.conv_2d import Conv2D
from tinydeploy.ops.depthwise_conv_2d import DepthwiseConv2D
from tinydeploy.ops.fully_connected import FullyConnected
from tinydeploy.ops.reshape import Reshape
from tinydeploy.ops.softmax import Softmax

_CONV = dot(
    Conv2D(),
    int8(1, 2, 2, 2, zero=1),
    np.array([[[[1, 2]]], [[[-1, 3]]], [[[0, 0]]]], np.int8),
    np.array([0, 4, -6], np.int32),
    int8(1, 2, 2, 3, scale=0.125),
)
_DEPTHWISE = dot(
    DepthwiseConv2D(),
    int8(1, 2, 2, 2, zero=1),
    np.array([[[[1, 2, 3, -1]]]], np.int8),
    np.array([0, 1, 2, 3], np.int32),
    int8(1, 2, 2, 4, scale=0.125),
)
_DENSE = dot(
    FullyConnected(),
    int8(2, 3, zero=1),
    np.array([[1, 2, 3], [0, -1, 0]], np.int8),
    np.array([1, -1], np.int32),
    int8(2, 2, scale=0.125),
)
_POOL = site(AveragePool2D((2, 2), (1, 1)), (int8(1, 2, 2, 2),), int8(1, 1, 1, 2))
_ADD = site(Add(), (int8(1, 3), int8(1, 3, scale=1.0)), int8(1, 3))
_RESHAPE = site(Reshape((4, 2)), (int8(1, 2, 2, 2),), int8(4, 2))
_SOFTMAX = site(Softmax(), (int8(1, 4, scale=1.0),), int8(1, 4, scale=1 / 256, zero=-128))
_SOFTMAX_ONCE = dataclasses.replace(_SOFTMAX, attrs=Softmax(rounding=Rounding.HALF_EVEN))

CASES: dict[str, Case] = {
    **elementwise.CASES,
    **indexed.CASES,
    **floats.CASES,
    **integer.CASES,
    **moves.CASES,
    **plain.CASES,
    **recurrent.CASES,
    **reductions.CASES,
    **stateful.CASES,
    **windows.CASES,
    "Conv2D": Case(
        _CONV,
        (IMAGE,),
        np.array([[[[-1, 5, -6], [5, 9, -6]], [[11, 13, -6], [17, 17, -6]]]], np.int8),
        24,
        (
            *image_limits(_CONV, Conv2D(padding=FAR)),
            Broken("the weights have 4 dimensions", "[6]", with_input(_CONV, 1, int8(6))),
            Broken(
                "the weights have as many input channels", "2 of 4", with_input(_CONV, 0, int8(1, 2, 2, 4))
            ),
            *dot_limits(_CONV),
            *float_dot_limits(_CONV),
            *plain_image_limits(_CONV)[:1],
        ),
        (with_input(_CONV, 0, int8(2, 2)), with_input(_CONV, 1, int8(6))),
    ),
    "DepthwiseConv2D": Case(
        _DEPTHWISE,
        (IMAGE,),
        np.array(
            [[[[-1, -1, 2, 3], [1, 3, 8, 1]], [[3, 7, 14, -1], [5, 11, 20, -3]]]],
            np.int8,
        ),
        16,
        (
            *image_limits(_DEPTHWISE, DepthwiseConv2D(padding=FAR)),
            Broken("the weights have 4 dimensions", "[4]", with_input(_DEPTHWISE, 1, int8(4))),
            Broken(
                "the output channels are a multiple of the input channels",
                "4 from 3",
                with_input(_DEPTHWISE, 0, int8(1, 2, 2, 3)),
            ),
            *dot_limits(_DEPTHWISE),
            *float_dot_limits(_DEPTHWISE),
            *plain_image_limits(_DEPTHWISE)[:1],
        ),
        (with_input(_DEPTHWISE, 0, int8(1, 4)),),
    ),
    "FullyConnected": Case(
        _DENSE,
        (np.array([[1, 2, 3], [0, 0, 0]], np.int8),),
        np.array([[9, -2], [-5, 0]], np.int8),
        12,
        (
            Broken(
                "the weights are [N, K]", "weights [2, 3], data [2, 5]", with_input(_DENSE, 0, int8(2, 5))
            ),
            Broken("the weights are [N, K]", "weights [6], data [2, 3]", with_input(_DENSE, 1, int8(6))),
            *dot_limits(_DENSE),
            *float_dot_limits(_DENSE),
        ),
        (with_input(_DENSE, 1, int8()),),
    ),
    "AveragePool2D": Case(
        _POOL,
        (IMAGE,),
        np.array([[[[3, 4]]]], np.int8),
        0,
        (
            *image_limits(_POOL, AveragePool2D((2, 2), (1, 1), FAR)),
            *plain_image_limits(_POOL)[:1],
            *float_limits(_POOL),
            Broken(
                "without dilation, and with padding that does not count",
                "dilation=(2, 1)",
                dataclasses.replace(_POOL, attrs=AveragePool2D((1, 1), (1, 1), dilation=(2, 1))),
            ),
            Broken(
                ACTIVATIONS, "int8[1, 2, 2, 2] per tensor, float32[", with_output(_POOL, float32(1, 1, 1, 2))
            ),
            wide_zero_limit(_POOL),
            Broken(
                "input and output have the same scale and zero point",
                "Quant(",
                with_output(_POOL, int8(1, 1, 1, 2, zero=1)),
            ),
            Broken(
                "every window meets at least one element of the data",
                "size (2, 2), padding ((2, 0), (0, 0))",
                dataclasses.replace(_POOL, attrs=AveragePool2D((2, 2), (1, 1), ((2, 0), (0, 0)))),
            ),
        ),
        (with_input(_POOL, 0, int8(2, 2)),),
    ),
    "Add": Case(
        _ADD,
        (np.array([[1, 2, -3]], np.int8), np.array([[10, 20, 30]], np.int8)),
        np.array([[21, 42, 57]], np.int8),
        0,
        (
            Broken(ACTIVATIONS, "float32[1, 3] not quantized", with_input(_ADD, 1, float32(1, 3))),
            Broken(
                "each extent of one input is that of",
                "[1, 3] and [2]",
                with_input(_ADD, 1, int8(2)),
            ),
            Broken(
                "the output's scale is not so small that a sum of inputs",
                "output scale 1e-07",
                with_output(_ADD, int8(1, 3, scale=1e-7)),
            ),
            wide_zero_limit(_ADD),
            elementwise.once_limit(_ADD),
            plain.plain_limit(_ADD),
        ),
    ),
    "Reshape": Case(
        _RESHAPE,
        (IMAGE,),
        np.arange(8, dtype=np.int8).reshape(4, 2),
        0,
        (
            Broken(
                "the new shape holds as many elements", "[1, 2, 2, 2] to [3]", with_output(_RESHAPE, int8(3))
            ),
            Broken(
                "input and output have the same type and quantization",
                "Quant(",
                with_output(_RESHAPE, int8(4, 2, zero=1)),
            ),
        ),
    ),
    "Softmax": Case(
        _SOFTMAX,
        (np.array([[0, 0, 0, -100]], np.int8),),
        np.array([[-43, -43, -43, -128]], np.int8),
        0,
        (
            *float_limits(_SOFTMAX),
            Broken(
                "data are int8 or int16, the result", "float32[1, 4]", with_input(_SOFTMAX, 0, float32(1, 4))
            ),
            Broken(
                ACTIVATIONS,
                "float32[1, 4]",
                with_input(
                    dataclasses.replace(_SOFTMAX, attrs=Softmax(rounding=Rounding.HALF_EVEN)),
                    0,
                    float32(1, 4),
                ),
            ),
            Broken(
                "the input has at least one dimension", "a single number", with_input(_SOFTMAX, 0, int8())
            ),
            Broken("the output has scale 1/256", "Quant(", with_output(_SOFTMAX, int8(1, 4))),
            Broken(
                "beta times the input's scale is positive, and at least 2**-26",
                "beta 1e-10, scale 1",
                dataclasses.replace(_SOFTMAX, attrs=Softmax(beta=1e-10)),
            ),
            Broken("a row has at most 4,000 elements", "4001", with_input(_SOFTMAX, 0, int8(1, 4001))),
        ),
    ),
}
