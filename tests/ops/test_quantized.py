"""Clamps and factors at the ends of what a file can hold."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tinydeploy.ir import DType, Quant, TensorType
from tinydeploy.ops.quantized import (
    Activation,
    accumulator_factors,
    accumulator_peak,
    activation_limits,
    describe,
    quant_of,
)


def int8(scale: float, zero_point: int = 0) -> TensorType:
    return TensorType(DType.INT8, (1,), Quant((scale,), (zero_point,)))


@pytest.mark.parametrize(
    ("activation", "scale", "zero_point", "limits"),
    [
        (Activation.NONE, 0.5, 3, (-128, 127)),
        (Activation.RELU, 0.5, 3, (3, 127)),
        (Activation.RELU6, 0.5, -3, (-3, 9)),
        (Activation.RELU6, 4.0, 0, (0, 2)),
        (Activation.RELU_N1_TO_1, 0.4, 10, (7, 13)),
        (Activation.RELU_N1_TO_1, 1e-44, 0, (-128, 127)),
        (Activation.RELU6, 1e-44, 127, (127, 127)),
        (Activation.RELU6, 3e38, -128, (-128, -128)),
    ],
)
def test_clamps(activation: Activation, scale: float, zero_point: int, limits: tuple[int, int]) -> None:
    assert activation_limits(activation, int8(float(np.float32(scale)), zero_point)) == limits


def test_factors_are_one_per_scale_of_the_weights() -> None:
    weights = TensorType(DType.INT8, (2, 1), Quant((0.5, 0.25), (0, 0), 0))
    multipliers, shifts = accumulator_factors(int8(1.0), weights, int8(2.0))
    assert multipliers.tolist() == [1 << 30, 1 << 30]
    assert shifts.tolist() == [-1, -2]


def test_peak_bounds_every_partial_sum() -> None:
    weights = np.array([[127, -128], [1, 1]], np.int8)
    # |bias| + |zero point * sum of weights| + 128 * sum of |weights|
    assert accumulator_peak(weights, 0, np.array([-5, 0], np.int32), -100) == 5 + 100 + 128 * 255
    assert accumulator_peak(weights, 1, None, 0) == 128 * 129


def test_descriptions() -> None:
    assert describe(None) == "nothing"
    assert describe(TensorType(DType.INT8, (2, 1), Quant((0.5, 0.25), (0, 0), 0))) == "int8[2, 1] per axis"
    with pytest.raises(ValueError, match=r"float32\[1\] is not quantized"):
        quant_of(TensorType(DType.FLOAT32, (1,)))
    assert math.isinf(Activation.RELU.bounds[1])
