"""Cases of the reductions."""

from __future__ import annotations

import dataclasses

import numpy as np

from tests.ops.making import ACTIVATIONS, INT8_ACTIVATIONS, Broken, Case, float32, int8, site, with_output
from tests.ops.plain import plain_limit
from tinydeploy.fixed_point import Rounding
from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops import AnySite
from tinydeploy.ops.arg_max import ArgMax
from tinydeploy.ops.arg_min import ArgMin
from tinydeploy.ops.mean import Mean
from tinydeploy.ops.reduce_max import ReduceMax
from tinydeploy.ops.reduce_min import ReduceMin
from tinydeploy.ops.sum import Sum

DATA = np.array([[[1, 2], [5, 4]], [[-7, 0], [7, -3]]], np.int8)


def far_axis(sound: AnySite, attrs: Attrs) -> Broken:
    return Broken(
        "the axes are dimensions of the input", "[5] of [2, 2, 2]", dataclasses.replace(sound, attrs=attrs)
    )


def sums(attrs: type[Mean] | type[Sum], result: list[int]) -> Case:
    sound = site(attrs((0, 1)), (int8(2, 2, 2),), int8(2))
    return Case(
        sound,
        (DATA,),
        np.array(result, np.int8),
        0,
        (
            Broken(INT8_ACTIVATIONS, "float32[2] not quantized", with_output(sound, float32(2))),
            Broken(
                ACTIVATIONS,
                "float32[2] not quantized",
                dataclasses.replace(
                    with_output(sound, float32(2)), attrs=attrs((0, 1), rounding=Rounding.HALF_EVEN)
                ),
            ),
            plain_limit(sound),
            far_axis(sound, attrs((5,))),
            Broken(
                "no sum, brought to the output's scale, leaves 32 bits",
                "4 elements, output scale 1e-09",
                with_output(sound, int8(2, scale=1e-9)),
            ),
        ),
    )


def extremes(attrs: type[ReduceMax] | type[ReduceMin], result: list[list[list[int]]]) -> Case:
    sound = site(attrs((1,), keep_dims=True), (int8(2, 2, 2),), int8(2, 1, 2))
    return Case(
        sound,
        (DATA,),
        np.array(result, np.int8),
        0,
        (
            Broken(INT8_ACTIVATIONS, "float32[2, 1, 2] not quantized", with_output(sound, float32(2, 1, 2))),
            plain_limit(sound),
            far_axis(sound, attrs((5,))),
            Broken(
                "input and output have the same scale", "Quant(", with_output(sound, int8(2, 1, 2, zero=1))
            ),
        ),
    )


def indices(attrs: type[ArgMax] | type[ArgMin], result: Array) -> Case:
    sound = site(attrs((2,)), (int8(2, 2, 2),), TensorType(DType.INT32, (2, 2)))
    return Case(
        sound,
        (DATA,),
        result.astype(np.int32),
        0,
        (
            far_axis(sound, attrs((5,))),
            plain_limit(sound, "the elements are "),
            Broken(
                "the input is int8 where it is quantized, the result int32 or int64, and one axis",
                "int8[2, 2, 2] per tensor, int8, (2,)",
                dataclasses.replace(sound, attrs=attrs((2,), index=DType.INT8)),
            ),
        ),
    )


CASES: dict[str, Case] = {
    "Mean": sums(Mean, [2, 1]),
    "Sum": sums(Sum, [6, 3]),
    "ReduceMax": extremes(ReduceMax, [[[5, 4]], [[7, 0]]]),
    "ReduceMin": extremes(ReduceMin, [[[1, 2]], [[-7, -3]]]),
    "ArgMax": indices(ArgMax, np.array([[1, 0], [1, 0]])),
    "ArgMin": indices(ArgMin, np.array([[0, 1], [0, 1]])),
}
