"""Float data times integer weights (TFLite's dynamic range): data become steps of int8 when the model runs.

Each image, or each vector of a dense layer, gets a scale of its own; sums are integers, exact, and one float
product brings them back. The numbers are float32 in the order in which the generated C has them.
"""

from __future__ import annotations

import numpy as np

from tinydeploy.ir import Array, DType
from tinydeploy.ops.base import AnyConstraint, AnySite, Constraint, operand
from tinydeploy.ops.dot_weights import WEIGHTS, centred_weights
from tinydeploy.ops.quantized import along, describe, is_quantized, quant_of
from tinydeploy.ops.sums import SumsOf


def is_hybrid(site: AnySite) -> bool:
    """Whether a node of (data, weights, bias) has float data and quantized weights."""
    return site.input(0).dtype is DType.FLOAT32 and is_quantized(site)


def is_integer(site: AnySite) -> bool:
    """Whether it computes with quantized data."""
    return is_quantized(site) and not is_hybrid(site)


def is_asymmetric(site: AnySite) -> bool:
    """Whether the steps of the data have a zero point.

    In a dense layer an attribute says so, in convolutions that the weights have several scales.
    """
    weights = site.input(1)
    return bool(site.attrs.asymmetric) if len(weights.shape) == 2 else not quant_of(weights).per_tensor


def quantized_rows(rows: Array, *, asymmetric: bool) -> tuple[Array, Array, Array]:
    """(steps, scales, zero points) of each row of float32 numbers, as TFLite chooses them."""
    if not asymmetric:
        size = np.abs(rows).max(axis=1)
        scales = np.where(size > 0, size / np.float32(127), np.float32(1))
        inverse = np.where(size > 0, np.float32(127) / np.where(size > 0, size, 1), np.float32(0))
        steps = _rounded(rows * inverse[:, None].astype(np.float32))
        return np.clip(steps, -127, 127), scales.astype(np.float32), np.zeros(len(rows), np.int64)
    low = np.minimum(rows.min(axis=1), np.float32(0))
    high = np.maximum(rows.max(axis=1), np.float32(0))
    flat = low == high
    scales = np.where(flat, np.float32(1), (high - low) / np.float32(255)).astype(np.float32)
    below, above = low / scales, high / scales
    nearer_low = np.float32(128) - below < np.float32(127) + above
    exact = np.where(nearer_low, np.float32(-128) - below, np.float32(127) - above)
    zeros = np.where(flat, 0, np.clip(_rounded(exact), -128, 127)).astype(np.int64)
    inverse = np.float32(1) / scales
    steps = _rounded(zeros.astype(np.float32)[:, None] + rows * inverse[:, None])
    return np.clip(steps, -128, 127), scales, zeros


def _rounded(values: Array) -> Array:
    """To the nearest whole number, ties away from zero; NaN becomes the lowest."""
    known = np.nan_to_num(values, nan=-1e9, posinf=1e9, neginf=-1e9)
    whole = np.trunc(known)
    rounded: Array = whole + np.where(np.abs(known - whole) >= 0.5, np.sign(known), 0)
    return rounded


def hybrid_reference(site: AnySite, arrays: tuple[Array | None, ...], sums_of: SumsOf) -> Array:
    """The hybrid kind of an operator with inputs (data, weights, bias)."""
    data = operand(arrays, 0).astype(np.float32)
    weights = operand(arrays, 1)
    dense = weights.ndim == 2
    rows = data.reshape(-1, weights.shape[1]) if dense else data.reshape(data.shape[0], -1)
    with np.errstate(over="ignore", invalid="ignore"):
        steps, scales, zeros = quantized_rows(rows, asymmetric=is_asymmetric(site))
        centred = (steps - zeros[:, None]).astype(np.float64).reshape(rows.shape if dense else data.shape)
        sums = sums_of(site, centred, centred_weights(site, weights))
        per_row = scales.astype(np.float64).reshape(-1, *(1,) * (sums.ndim - 1))
        weight_scales = along(quant_of(site.input(1)), weights.shape)[0].reshape(-1)
        total = sums * per_row * weight_scales
    if site.has(2):
        total = total + operand(arrays, 2).astype(np.float64).reshape(-1)
    clipped: Array = np.clip(total, *site.attrs.activation.bounds).astype(np.float32)
    return clipped.reshape(site.outputs[0].shape)


def hybrid_constraints(channel_axis: int) -> tuple[AnyConstraint, ...]:
    """Limits of the hybrid kind; ``channel_axis`` is that of the weights."""

    def weights_fit(site: AnySite) -> bool:
        weights = site.input(1)
        return (
            weights.dtype in WEIGHTS
            and site.constant(1) is not None
            and weights.quant is not None
            and weights.quant.axis in (None, channel_axis)
            and not any(weights.quant.zero_points)
        )

    def bias_fits(site: AnySite) -> bool:
        if not site.has(2):
            return True
        bias = site.input(2)
        channels = site.input(1).shape[channel_axis]
        return bias.dtype is DType.FLOAT32 and bias.elements == channels and site.constant(2) is not None

    return (
        Constraint(
            "beside float data, weights are constant int8 or int4, symmetric, per tensor or channel",
            weights_fit,
            lambda site: describe(site.input(1)) + ("" if site.constant(1) is not None else ", not constant"),
            "convert the model with float32 weights or with full int8 quantization",
            gate=True,
        ),
        Constraint(
            "beside float data, the output is float32, and the bias absent or constant float32 per channel",
            lambda site: site.outputs[0].dtype is DType.FLOAT32 and bias_fits(site),
            lambda site: ", ".join(describe(type_) for type_ in (*site.inputs[2:], *site.outputs)),
            "convert the model with float32 weights or with full int8 quantization",
        ),
    )
