"""The arithmetic of general integer kernels: element types, zero points, sums of 32 or 64 bits, factors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import Int64, Rounding, reduced_multiplier
from tinydeploy.ir import Array, DType
from tinydeploy.kernels.base import Constant, CType, Kind, Scalar, constant
from tinydeploy.kernels.image import steps_ctype
from tinydeploy.kernels.requantize import is_int8_dot, requantizer
from tinydeploy.kernels.windowed import weights_of
from tinydeploy.ops import AnySite
from tinydeploy.ops.dot import is_wide, peak_of
from tinydeploy.ops.quantized import accumulator_factors, activation_limits, is_activation, quant_of

HEADERS = ("td_fixed_point.h", "td_int4.h", "td_rows.h")

INSTRUCTIONS_PER_MAC = 9
INSTRUCTIONS_PER_OUTPUT = 60


@dataclass(frozen=True, slots=True)
class Numbers:
    """What templates need to know: C types, which zero points are not 0, the C function that scales a sum.

    ``weight_zero`` is empty, or the expression of the zero point of channel ``c``.
    """

    data: str
    sum: str
    nibbles: bool
    data_zero: bool
    weight_zero: str
    bias: bool
    function: str
    per_channel: bool
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Operands:
    """The numbers with the constants and scalars that go with them."""

    params: Numbers
    constants: tuple[Constant, ...]
    scalars: tuple[Scalar, ...]


def is_general(site: AnySite) -> bool:
    """Whether a dot product is left to the general kernels."""
    return is_activation(site.input(0)) and is_activation(site.outputs[0]) and not is_int8_dot(site)


def packed(steps: Array) -> Array:
    """Steps of 4 bits, two to a byte, the first in the low half."""
    flat = steps.reshape(-1).astype(np.int64)
    halves = np.append(flat, np.zeros(flat.size % 2, np.int64)) & 15
    return ((halves[::2] | halves[1::2] << 4) ^ 128) - 128


def operands_of(site: AnySite, channel_axis: int) -> Operands:
    """Everything that a general kernel of (data, weights, bias) takes beside the data."""
    weights, bias = weights_of(site), site.constant(2)
    quant, zero_point = quant_of(site.input(1)), quant_of(site.input(0)).zero_point
    wide, nibbles = is_wide(site), site.input(1).dtype is DType.INT4
    multiplier, shift = accumulator_factors(site.input(0), site.input(1), site.outputs[0])
    peak = peak_of(site, channel_axis, partial=True)
    function, multiplier, shift = _scaling(site.attrs.rounding, multiplier, shift, peak, wide=wide)
    low, high = activation_limits(site.attrs.activation, site.outputs[0])
    constants = [
        constant("weights", CType.INT8, Kind.WEIGHTS, packed(weights) if nibbles else weights.reshape(-1))
    ]
    scalars: list[Scalar] = []
    if zero_point:
        scalars.append(Scalar("input_zero_point", zero_point))
    weight_zero = ""
    if any(quant.zero_points):
        if len(set(quant.zero_points)) == 1:
            weight_zero = "weight_zero_point"
            scalars.append(Scalar(weight_zero, quant.zero_points[0]))
        else:
            weight_zero = "weight_zero_points[c]"
            zeros = np.array(quant.zero_points, np.int64)
            constants.append(constant("weight_zero_points", CType.INT8, Kind.TABLE, zeros))
    if bias is not None:
        ctype = CType.INT64 if wide else CType.INT32
        constants.append(constant("bias", ctype, Kind.TABLE, bias.reshape(-1).astype(np.int64)))
    scalars.append(Scalar("output_zero_point", quant_of(site.outputs[0]).zero_point))
    if len(multiplier) > 1:
        constants.append(constant("multiplier", CType.INT32, Kind.TABLE, multiplier))
        constants.append(constant("shift", CType.INT8, Kind.TABLE, shift))
    else:
        scalars += [Scalar("multiplier", int(multiplier[0])), Scalar("shift", int(shift[0]))]
    params = Numbers(
        data=steps_ctype(site.outputs[0]),
        sum="int64_t" if wide else "int32_t",
        nibbles=nibbles,
        data_zero=zero_point != 0,
        weight_zero=weight_zero,
        bias=bias is not None,
        function=function,
        per_channel=len(multiplier) > 1,
        low=low,
        high=high,
    )
    return Operands(params, tuple(constants), tuple(scalars))


def _scaling(
    rounding: Rounding, multiplier: Int64, shift: Int64, peak: int, *, wide: bool
) -> tuple[str, Int64, Int64]:
    """The C function, and the factors as it takes them."""
    if not wide:
        function, shift = requantizer(rounding, multiplier, shift, peak)
        return function, multiplier, shift
    if rounding is Rounding.HALF_EVEN:
        return "td_requantize_wide_half_even", multiplier, shift
    return "td_requantize_wide", reduced_multiplier(multiplier), shift
