"""What the integer operators share: activation clamps, accumulator factors and bounds."""

from __future__ import annotations

import math
from enum import Enum

import numpy as np

from tinydeploy.fixed_point import INT32_MAX, Int64, quantize_multipliers
from tinydeploy.ir import Array, DType, Quant, TensorType
from tinydeploy.ops.base import AnyConstraint, AnySite, Constraint, is_plain


class Activation(Enum):
    """A clamp fused into an operator, in real numbers."""

    NONE = "none"
    RELU = "relu"
    RELU6 = "relu6"
    RELU_N1_TO_1 = "relu_n1_to_1"
    RELU_0_TO_1 = "relu_0_to_1"

    @property
    def bounds(self) -> tuple[float, float]:
        return _BOUNDS[self]


_BOUNDS = {
    Activation.NONE: (-math.inf, math.inf),
    Activation.RELU: (0.0, math.inf),
    Activation.RELU6: (0.0, 6.0),
    Activation.RELU_N1_TO_1: (-1.0, 1.0),
    Activation.RELU_0_TO_1: (0.0, 1.0),
}


def quant_of(type_: TensorType) -> Quant:
    """The quantization of a type that a constraint has already shown to be quantized."""
    if type_.quant is None:
        raise ValueError(f"{type_.dtype.value}{list(type_.shape)} is not quantized")
    return type_.quant


def along(quant: Quant, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Scales (float64) and zero points (int64), shaped to broadcast over a tensor of ``shape``."""
    wanted = [1] * len(shape)
    if quant.axis is not None:
        wanted[quant.axis] = len(quant.scales)
    return np.array(quant.scales).reshape(wanted), np.array(quant.zero_points, np.int64).reshape(wanted)


def activation_limits(activation: Activation, output: TensorType) -> tuple[int, int]:
    """Smallest and largest output step under a fused activation (TFLite's CalculateActivationRange)."""
    quant = quant_of(output)
    low, high = output.dtype.limits
    lower, upper = activation.bounds
    if math.isfinite(lower):
        low = max(low, quant.zero_point + _steps(lower, quant.scale))
    if math.isfinite(upper):
        high = min(high, quant.zero_point + _steps(upper, quant.scale))
    return low, high


def _steps(real: float, scale: float) -> int:
    """``real / scale`` in float32, rounded with ties away from zero, and cut to 32 bits."""
    with np.errstate(over="ignore"):
        value = float(np.float32(real) / np.float32(scale))
    size = math.floor(min(abs(value), float(INT32_MAX)) + 0.5)
    return size if value >= 0 else -size


def accumulator_factors(input_: TensorType, weights: TensorType, output: TensorType) -> tuple[Int64, Int64]:
    """(multiplier, shift) from accumulator to output steps, one per channel or a single one.

    The scales are multiplied in float64, as TFLite Micro does per channel and per tensor; the 31-bit
    multiplier shows the difference to float32.
    """
    scale_in, scale_out = quant_of(input_).scale, quant_of(output).scale
    return quantize_multipliers([scale_in * scale / scale_out for scale in quant_of(weights).scales])


def accumulator_peak(
    weights: Array, channel_axis: int, bias: Array | None, zero_point: int, bits: int = 8
) -> int:
    """Largest magnitude that any partial sum of ``bias - zp * sum(w) + sum(w * x)`` can reach.

    x are signed numbers of ``bits`` bits.
    """
    axes = tuple(axis for axis in range(weights.ndim) if axis != channel_axis)
    wide = weights.astype(np.int64)
    total = np.abs(wide).sum(axis=axes)
    start = np.abs(wide.sum(axis=axes) * zero_point)
    offset = np.abs(bias.astype(np.int64)).reshape(-1) if bias is not None else np.zeros_like(start)
    return int((offset + start + (total << (bits - 1))).max())


def partial_peak(weights: Array, channel_axis: int, bias: Array | None, bits: int = 8) -> int:
    """Largest magnitude of ``bias`` plus the sum of any part of the products ``w * (x - zp)``.

    x are signed numbers of ``bits`` bits.
    """
    axes = tuple(axis for axis in range(weights.ndim) if axis != channel_axis)
    total = ((1 << bits) - 1) * np.abs(weights.astype(np.int64)).sum(axis=axes)
    return int((total + (0 if bias is None else np.abs(bias.astype(np.int64)))).max())


WIDE_MAX = (1 << 47) - 1
"""The largest sum that TFLite's 64-bit scaling takes."""
WIDE_LEFT = 7
"""The furthest left shift of that scaling."""


def fits_wide(peak: int, multiplier: int, shift: int) -> bool:
    """Whether 64-bit sums up to ``peak``, times a factor, give 32-bit steps with room for a zero point."""
    scaled = (peak * multiplier) >> (31 - shift) if shift <= WIDE_LEFT else INT32_MAX
    return peak <= WIDE_MAX and scaled <= INT32_MAX - (1 << 16)


def is_quantized(site: AnySite) -> bool:
    """Whether a node computes with quantized steps: an input or an output has a scale."""
    return not is_plain(site)


def is_int8(type_: TensorType | None) -> bool:
    """int8 with one scale and zero point."""
    return (
        type_ is not None and type_.dtype is DType.INT8 and type_.quant is not None and type_.quant.per_tensor
    )


def int8_activations(*inputs: int, gate: bool = True) -> AnyConstraint:
    """The given inputs and all outputs are int8 with one scale each."""

    def types(site: AnySite) -> list[TensorType | None]:
        return [*(site.inputs[index] if site.has(index) else None for index in inputs), *site.outputs]

    return Constraint(
        "activations are int8 with one scale and zero point per tensor",
        lambda site: all(map(is_int8, types(site))),
        lambda site: ", ".join(describe(type_) for type_ in types(site)),
        "convert the model with full int8 quantization",
        gate,
    )


def distance_from_zero(type_: TensorType) -> int:
    """The largest distance of a step from the zero point."""
    zero_point = quant_of(type_).zero_point
    return max(abs(limit - zero_point) for limit in type_.dtype.limits)


def is_activation(type_: TensorType | None) -> bool:
    """int8 or int16 with one scale and zero point."""
    return (
        type_ is not None
        and type_.dtype in (DType.INT8, DType.INT16)
        and type_.quant is not None
        and type_.quant.per_tensor
    )


def activations(*inputs: int, gate: bool = True) -> AnyConstraint:
    """The given inputs and all outputs are int8, or all int16, with one scale each."""

    def types(site: AnySite) -> list[TensorType | None]:
        return [*(site.inputs[index] if site.has(index) else None for index in inputs), *site.outputs]

    return Constraint(
        "activations are all int8 or all int16, with one scale and zero point per tensor",
        lambda site: all(
            is_activation(type_) and type_ is not None and type_.dtype is site.outputs[0].dtype
            for type_ in types(site)
        ),
        lambda site: ", ".join(describe(type_) for type_ in types(site)),
        "convert the model with full int8 quantization",
        gate,
    )


def wide_zero_points(*inputs: int) -> AnyConstraint:
    """int16 steps count from 0."""

    def types(site: AnySite) -> list[TensorType]:
        return [*(site.input(index) for index in inputs), *site.outputs]

    return Constraint(
        "zero points are 0 where activations are int16",
        lambda site: all(
            type_.dtype is not DType.INT16 or quant_of(type_).zero_point == 0 for type_ in types(site)
        ),
        lambda site: ", ".join(str(quant_of(type_).zero_point) for type_ in types(site)),
        "quantize int16 activations symmetrically",
        gate=True,
    )


def same_quantization(*inputs: int) -> AnyConstraint:
    """The given inputs and the output have one scale and zero point."""
    return Constraint(
        "input and output have the same scale and zero point",
        lambda site: all(site.input(index).quant == site.outputs[0].quant for index in inputs),
        lambda site: " and ".join(
            [*(str(site.input(index).quant) for index in inputs), str(site.outputs[0].quant)]
        ),
        "convert the model again: the converter ties the two scales",
    )


def describe(type_: TensorType | None) -> str:
    """A type for messages: element type, shape and kind of quantization."""
    if type_ is None:
        return "nothing"
    kind = (
        "not quantized" if type_.quant is None else ("per tensor" if type_.quant.per_tensor else "per axis")
    )
    return f"{type_.dtype.value}{list(type_.shape)} {kind}"
