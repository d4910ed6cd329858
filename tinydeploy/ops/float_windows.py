"""The float32 kind of convolutions and dense layers: summed in float64, rounded once.

Weights and bias may be values of the run; C sums in float32 in a fixed order and stays within 1e-5 of this.
"""

from __future__ import annotations

import numpy as np

from tinydeploy.ir import Array, DType
from tinydeploy.ops.base import AnyConstraint, AnySite, Constraint, operand
from tinydeploy.ops.quantized import Activation, describe
from tinydeploy.ops.sums import SumsOf


def clamped(total: Array, activation: Activation) -> Array:
    """float32 of a float64 result under a fused activation; NaN stays NaN."""
    low, high = activation.bounds
    with np.errstate(over="ignore"):
        return np.clip(total, low, high).astype(np.float32)


def finished(site: AnySite, total: Array, arrays: tuple[Array | None, ...]) -> Array:
    """The output of an operator with inputs (data, weights, bias): sums, bias, activation, shape."""
    if site.has(2):
        total = total + operand(arrays, 2).astype(np.float64).reshape(-1)
    return clamped(total, site.attrs.activation).reshape(site.outputs[0].shape)


def float_dot(site: AnySite, arrays: tuple[Array | None, ...], sums_of: SumsOf) -> Array:
    """The float32 kind of an operator with inputs (data, weights, bias)."""
    data, weights = (operand(arrays, index).astype(np.float64) for index in range(2))
    return finished(site, sums_of(site, data, weights), arrays)


def all_float(site: AnySite) -> bool:
    """Every input and output is float32."""
    types = (*site.inputs, *site.outputs)
    return all(type_ is None or type_.dtype is DType.FLOAT32 for type_ in types)


def float_types() -> AnyConstraint:
    """All operands are float32; for the plain kind of an operator."""
    return Constraint(
        "without quantization, all operands are float32",
        all_float,
        lambda site: ", ".join(describe(type_) for type_ in (*site.inputs, *site.outputs) if type_),
        "convert the model with float32 or with full int8 quantization",
        gate=True,
    )


def float_constraints(channel_axis: int) -> tuple[AnyConstraint, ...]:
    """Limits of the float32 operators with inputs (data, weights, bias)."""

    def bias_fits(site: AnySite) -> bool:
        return not site.has(2) or site.input(2).elements == site.input(1).shape[channel_axis]

    return (
        float_types(),
        Constraint(
            "the bias has one number per output channel",
            bias_fits,
            lambda site: f"{site.input(2).elements} for {site.input(1).shape[channel_axis]} channels",
            "repair the model",
        ),
    )
