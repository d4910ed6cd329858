"""How int8 dot-product kernels get from accumulators to outputs: folded bias, factors, clamps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tinydeploy.fixed_point import Int64, Rounding
from tinydeploy.ir import Array, DType
from tinydeploy.kernels.base import Constant, CType, Kind, Scalar, constant
from tinydeploy.kernels.packed.grid import on_grid
from tinydeploy.ops import AnySite
from tinydeploy.ops.quantized import (
    Activation,
    accumulator_factors,
    accumulator_peak,
    activation_limits,
    is_int8,
    partial_peak,
    quant_of,
)

SMALL = "td_requantize_small"
ONCE = "td_requantize_once"


@dataclass(frozen=True, slots=True)
class Requantize:
    """Compile-time part: clamps, whether factors differ by channel, the cheapest C function that is exact.

    Rounded twice: ``td_requantize_small`` needs sums below 2**30 and takes right shifts as positive
    numbers, ``td_requantize`` needs shifts that are not to the left, ``td_requantize_any`` nothing.
    Rounded once: ``td_requantize_once`` needs right shifts by at least 2 and that no sum can end half-way
    between two steps, ``td_requantize_half_even`` nothing.
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
    """Whether the kernels for any int8 weights apply: those of 4 bits have kernels that pack them."""
    return is_int8_dot(site) and not on_grid(site)


def is_int8_dot(site: AnySite) -> bool:
    """Whether a node multiplies int8 by symmetric constant int8 weights, with sums of 32 bits."""
    if not (is_int8(site.input(0)) and is_int8(site.outputs[0])):
        return False
    weights = site.input(1)
    symmetric = weights.quant is not None and not any(weights.quant.zero_points)
    bias_fits = not site.has(2) or (site.input(2).dtype is DType.INT32 and site.constant(2) is not None)
    return weights.dtype is DType.INT8 and symmetric and site.constant(1) is not None and bias_fits


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
    function, shift = requantizer(site.attrs.rounding, multiplier, shift, peak)
    params = Requantize(low, high, len(multiplier) > 1, function)
    constants = [
        constant("bias", CType.INT32, Kind.TABLE, start),
    ]
    scalars = [Scalar("output_zero_point", quant_of(site.outputs[0]).zero_point)]
    if params.per_channel:
        constants.append(constant("multiplier", CType.INT32, Kind.TABLE, multiplier))
        constants.append(constant("shift", CType.INT8, Kind.TABLE, shift))
    else:
        scalars += [Scalar("multiplier", int(multiplier[0])), Scalar("shift", int(shift[0]))]
    return Folded(params, tuple(constants), tuple(scalars))


def requantizer(rounding: Rounding, multiplier: Int64, shift: Int64, peak: int) -> tuple[str, Int64]:
    """The cheapest exact C function for sums up to ``peak``, and the shifts as it takes them."""
    if rounding is Rounding.HALF_EVEN:
        shift = np.where(multiplier == 0, -2, shift)
        if (shift <= -2).all() and not any(map(_may_tie, multiplier, shift, [peak] * len(shift))):
            return ONCE, -1 - shift
        return "td_requantize_half_even", shift
    if (shift > 0).any():
        return "td_requantize_any", shift
    if (shift <= -1).all() and (shift >= -31).all() and peak < 1 << 30:
        return SMALL, -shift
    return "td_requantize", shift


def single_requantizer(rounding: Rounding, multiplier: int, shift: int, peak: int) -> tuple[str, int]:
    """The same for one factor, where TFLite's sums may be of any size."""
    if rounding is Rounding.TFLITE:
        return ("td_requantize_any" if shift > 0 else "td_requantize"), shift
    function, shifts = requantizer(rounding, np.array([multiplier]), np.array([shift]), peak)
    return function, int(shifts[0])


def _may_tie(multiplier: int, shift: int, peak: int) -> bool:
    """Whether a sum up to ``peak`` times the multiplier can be an odd multiple of half a step.

    That takes as many factors of two as half a step has; the sum has to bring those that the multiplier
    lacks.
    """
    own = (int(multiplier) & -int(multiplier)).bit_length() - 1 if multiplier else 64
    missing = 31 - int(shift) - 1 - own
    return multiplier != 0 and peak >= 1 << max(missing, 0)


def _folded_bias(site: AnySite, weights: Array, bias: Array | None, channel_axis: int) -> Array:
    axes = tuple(axis for axis in range(weights.ndim) if axis != channel_axis)
    sums: np.ndarray[Any, np.dtype[np.int64]] = weights.astype(np.int64).sum(axis=axes)
    folded: Array = -sums * quant_of(site.input(0)).zero_point
    if bias is not None:
        folded = folded + bias.reshape(-1).astype(np.int64)
    return folded
