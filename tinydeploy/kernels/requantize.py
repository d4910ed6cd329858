"""How int8 dot-product kernels get from accumulators to outputs: folded bias, factors, clamps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tinydeploy.fixed_point import Int64, Rounding
from tinydeploy.ir import Array
from tinydeploy.kernels.base import Constant, CType, Kind, Scalar, constant
from tinydeploy.ops import AnySite
from tinydeploy.ops.quantized import (
    Activation,
    accumulator_factors,
    accumulator_peak,
    activation_limits,
    partial_peak,
    quant_of,
)

SMALL = "td_requantize_small"


@dataclass(frozen=True, slots=True)
class Requantize:
    """Compile-time part: clamps, whether factors differ by channel, the cheapest C function that is exact.

    ``td_requantize_small`` needs sums below 2**30 and takes right shifts as positive numbers,
    ``td_requantize`` needs shifts that are not to the left, ``td_requantize_any`` nothing.
    """

    low: int
    high: int
    per_channel: bool
    function: str


@dataclass(frozen=True, slots=True)
class Folded:
    """Everything a dot-product kernel takes beside its weights."""

    params: Requantize
    constants: tuple[Constant, ...]
    scalars: tuple[Scalar, ...]


def is_supported(site: AnySite) -> bool:
    """Kernels so far round as TFLite does."""
    return bool(site.attrs.rounding is Rounding.TFLITE)


def fold(site: AnySite, channel_axis: int, *, partial: bool = False) -> Folded:
    """Fold the input's zero point into the bias and split the factors into constants and scalars.

    ``partial``: an output may sum any part of the products, so the zero point is left to the kernel.
    """
    weights, bias = site.constant(1), site.constant(2)
    if weights is None:
        raise ValueError(f"{site.name}: weights are not constant")
    activation: Activation = site.attrs.activation
    multiplier, shift = accumulator_factors(site.input(0), site.input(1), site.outputs[0])
    low, high = activation_limits(activation, site.outputs[0])
    if partial:
        peak = partial_peak(weights, channel_axis, bias)
        start = np.zeros(weights.shape[channel_axis], np.int64) if bias is None else bias.reshape(-1)
    else:
        peak = accumulator_peak(weights, channel_axis, bias, quant_of(site.input(0)).zero_point)
        start = _folded_bias(site, weights, bias, channel_axis)
    params = Requantize(low, high, len(multiplier) > 1, _function(shift, peak))
    constants = [
        constant("bias", CType.INT32, Kind.TABLE, start),
    ]
    scalars = [Scalar("output_zero_point", quant_of(site.outputs[0]).zero_point)]
    if params.function == SMALL:
        shift = -shift
    if params.per_channel:
        constants.append(constant("multiplier", CType.INT32, Kind.TABLE, multiplier))
        constants.append(constant("shift", CType.INT8, Kind.TABLE, shift))
    else:
        scalars += [Scalar("multiplier", int(multiplier[0])), Scalar("shift", int(shift[0]))]
    return Folded(params, tuple(constants), tuple(scalars))


def _function(shift: Int64, peak: int) -> str:
    if (shift > 0).any():
        return "td_requantize_any"
    if (shift <= -1).all() and (shift >= -31).all() and peak < 1 << 30:
        return SMALL
    return "td_requantize"


def _folded_bias(site: AnySite, weights: Array, bias: Array | None, channel_axis: int) -> Array:
    axes = tuple(axis for axis in range(weights.ndim) if axis != channel_axis)
    sums: np.ndarray[Any, np.dtype[np.int64]] = weights.astype(np.int64).sum(axis=axes)
    folded: Array = -sums * quant_of(site.input(0)).zero_point
    if bias is not None:
        folded = folded + bias.reshape(-1).astype(np.int64)
    return folded
