"""What the integer operators share: activation clamps, accumulator factors and bounds."""

from __future__ import annotations

import math
from enum import Enum

import numpy as np

from tinydeploy.fixed_point import INT32_MAX, Int64, quantize_multipliers
from tinydeploy.ir import Array, DType, Quant, TensorType
from tinydeploy.ops.base import AnyConstraint, AnySite, Constraint


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


def accumulator_peak(weights: Array, channel_axis: int, bias: Array | None, zero_point: int) -> int:
    """Largest magnitude that any partial sum of ``bias - zp * sum(w) + sum(w * x)`` can reach, x in int8."""
    axes = tuple(axis for axis in range(weights.ndim) if axis != channel_axis)
    wide = weights.astype(np.int64)
    total = np.abs(wide).sum(axis=axes)
    start = np.abs(wide.sum(axis=axes) * zero_point)
    offset = np.abs(bias.astype(np.int64)) if bias is not None else np.zeros_like(start)
    return int((offset + start + 128 * total).max())


def partial_peak(weights: Array, channel_axis: int, bias: Array | None) -> int:
    """Largest magnitude of ``bias`` plus the sum of any part of the products ``w * (x - zp)``, x in int8."""
    axes = tuple(axis for axis in range(weights.ndim) if axis != channel_axis)
    total = 255 * np.abs(weights.astype(np.int64)).sum(axis=axes)
    return int((total + (0 if bias is None else np.abs(bias.astype(np.int64)))).max())


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
