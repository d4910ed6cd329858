"""Cases of windows and matrices beside the first operators."""

from __future__ import annotations

import dataclasses

import numpy as np

from tests.ops.floats import as_float, float_dot_limits, float_limits, one_type_limits, plain_image_limits
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
from tinydeploy.ops.batch_mat_mul import BatchMatMul
from tinydeploy.ops.grouped_conv_2d import GroupedConv2D
from tinydeploy.ops.max_pool_2d import MaxPool2D
from tinydeploy.ops.transpose_conv import TransposeConv

_POOL = site(MaxPool2D((2, 2), (1, 1)), (int8(1, 2, 2, 2),), int8(1, 1, 1, 2))
_GROUPED = dot(
    GroupedConv2D(),
    int8(1, 2, 2, 2, zero=1),
    np.array([[[[1]]], [[[2]]], [[[3]]], [[[-1]]]], np.int8),
    np.array([0, 1, 2, 3], np.int32),
    int8(1, 2, 2, 4, scale=0.125),
)
_TRANSPOSED = dot(
    TransposeConv((2, 3), (1, 1)),
    int8(1, 2, 2, 1, zero=1),
    np.array([[[[1], [2]]]], np.int8),
    np.array([5], np.int32),
    int8(1, 2, 3, 1, scale=0.125),
)
_PRODUCT = site(
    BatchMatMul(transpose_b=True),
    (int8(2, 1, 3, zero=1), int8(2, 3, scale=0.25)),
    int8(2, 1, 2, scale=0.125),
)
WEIGHTS = "the weights have 4 dimensions"

CASES: dict[str, Case] = {
    "MaxPool2D": Case(
        _POOL,
        (IMAGE,),
        np.array([[[[6, 7]]]], np.int8),
        0,
        (
            *image_limits(_POOL, MaxPool2D((2, 2), (1, 1), FAR)),
            *plain_image_limits(_POOL)[:1],
            *one_type_limits(_POOL),
            Broken(
                "without dilation, and with padding that does not count",
                "dilation=(2, 1)",
                dataclasses.replace(_POOL, attrs=MaxPool2D((1, 1), (1, 1), dilation=(2, 1))),
            ),
            Broken(ACTIVATIONS, "float32[", with_output(_POOL, float32(1, 1, 1, 2))),
            wide_zero_limit(_POOL),
            Broken(
                "input and output have the same scale", "Quant(", with_output(_POOL, int8(1, 1, 1, 2, zero=1))
            ),
            Broken(
                "every window meets at least one element of the data",
                "size (2, 2), padding ((2, 0), (0, 0))",
                dataclasses.replace(_POOL, attrs=MaxPool2D((2, 2), (1, 1), ((2, 0), (0, 0)))),
            ),
        ),
        (with_input(_POOL, 0, int8(2, 2)),),
    ),
    "GroupedConv2D": Case(
        _GROUPED,
        (IMAGE,),
        np.array(
            [[[[-1, -1, 2, 3], [1, 3, 8, 1]], [[3, 7, 14, -1], [5, 11, 20, -3]]]],
            np.int8,
        ),
        16,
        (
            *image_limits(_GROUPED, GroupedConv2D(padding=FAR)),
            Broken(WEIGHTS, "[4]", with_input(_GROUPED, 1, int8(4))),
            Broken(
                "input and output channels are whole groups",
                "4 from 3 by 1",
                with_input(_GROUPED, 0, int8(1, 2, 2, 3)),
            ),
            *dot_limits(_GROUPED),
            *float_dot_limits(_GROUPED),
            *plain_image_limits(_GROUPED)[:1],
        ),
        (with_input(_GROUPED, 0, int8(1, 4)),),
    ),
    "TransposeConv": Case(
        _TRANSPOSED,
        (np.array([[[[1], [2]], [[3], [0]]]], np.int8),),
        # Centred rows 0 1 and 2 -1, each pixel times (1, 2), plus 5.
        np.array([[[[5], [6], [7]], [[7], [8], [3]]]], np.int8),
        8,
        (
            Broken(WEIGHTS, "[4]", with_input(_TRANSPOSED, 1, int8(4))),
            Broken(
                "the result has at most",
                "[1, 99999, 99999, 1]",
                with_output(_TRANSPOSED, int8(1, 99999, 99999, 1)),
            ),
            Broken(
                "the input is an image [1, H, W, C] with the channels",
                "[2, 2, 2, 1] and",
                with_input(_TRANSPOSED, 0, int8(2, 2, 2, 1)),
            ),
            Broken(
                "without dilation and groups where it is quantized",
                "dilation (2, 1), 1 groups",
                dataclasses.replace(_TRANSPOSED, attrs=TransposeConv((2, 3), dilation=(2, 1))),
            ),
            Broken(
                "the input is a batch of images [N, H, W, C] of whole groups of channels",
                "[1, 2, 2, 3], [1, 1, 2, 1], 1 groups",
                with_input(as_float(_TRANSPOSED), 0, float32(1, 2, 2, 3)),
            ),
            Broken(
                "strides and extents are at least 1",
                "stride (1, 0)",
                dataclasses.replace(_TRANSPOSED, attrs=TransposeConv((2, 3), (1, 0))),
            ),
            *dot_limits(_TRANSPOSED),
            *float_dot_limits(_TRANSPOSED),
            Broken(
                "no sum of any part of the products",
                "output scale 1e-09",
                with_output(_TRANSPOSED, int8(1, 2, 3, 1, scale=1e-9)),
            ),
        ),
    ),
    "BatchMatMul": Case(
        _PRODUCT,
        (np.array([[[1, 2, 3]], [[0, 0, 1]]], np.int8), np.array([[1, 2, 3], [-1, 0, 5]], np.int8)),
        np.array([[[8, 10]], [[-3, 1]]], np.int8),
        12,
        (
            Broken(ACTIVATIONS, "float32[", with_output(_PRODUCT, float32(2, 1, 2))),
            *float_limits(_PRODUCT),
            Broken(
                "the inputs are matrices with one inner extent",
                "[2, 1, 3] and [2, 4]",
                with_input(_PRODUCT, 1, int8(2, 4)),
            ),
            Broken(
                "no sum of products, brought to the output's scale",
                "3 products, output scale 1e-09",
                with_output(_PRODUCT, int8(2, 1, 2, scale=1e-9)),
            ),
        ),
        (with_input(_PRODUCT, 0, int8(2)),),
    ),
}
