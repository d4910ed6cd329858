"""Resample: each output along one axis is a weighted sum of elements of the input along it.

What a resize between elements is, one axis after another; places and weights are constants.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import Int64
from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, is_plain, no_macs, operand
from tinydeploy.ops.movable import size_constraint
from tinydeploy.ops.quantized import describe, quant_of

BITS = 14
"""Fractional bits of the weights where elements are quantized."""

QUANTIZED = (DType.INT8, DType.UINT8, DType.INT16)


@dataclass(frozen=True, slots=True)
class Resample(Attrs):
    """Input 1 holds places [size, taps], input 2 their weights; ``size`` is the output's on ``axis``."""

    axis: int


def fixed_weights(weights: Array) -> Int64:
    """Weights [size, taps] in 1/2**14; each row sums to what it should, its largest takes the rest."""
    steps = np.rint(weights.astype(np.float64) * (1 << BITS)).astype(np.int64)
    rest = np.rint(weights.astype(np.float64).sum(axis=1) * (1 << BITS)).astype(np.int64) - steps.sum(axis=1)
    rows = np.arange(len(steps))
    steps[rows, np.abs(steps).argmax(axis=1)] += rest
    return steps


def _infer(site: Site[Resample]) -> tuple[TensorType, ...]:
    data, axis = site.input(0), site.attrs.axis
    size = site.input(1).shape[0]
    return (TensorType(data.dtype, (*data.shape[:axis], size, *data.shape[axis + 1 :])),)


def _reference(site: Site[Resample], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    data, places, weights = (operand(arrays, index) for index in range(3))
    axis, output = site.attrs.axis, site.outputs[0]
    taken = data.take(places, axis=axis)
    shape = (*places.shape, *(1,) * (data.ndim - axis - 1))
    if is_plain(site):
        total = (taken.astype(np.float64) * weights.astype(np.float64).reshape(shape)).sum(axis=axis + 1)
        return (total.astype(np.float32),)
    zero_point = quant_of(output).zero_point
    sums = ((taken.astype(np.int64) - zero_point) * fixed_weights(weights).reshape(shape)).sum(axis=axis + 1)
    steps = np.rint(sums / (1 << BITS)).astype(np.int64) + zero_point
    return (np.clip(steps, *output.dtype.limits).astype(output.dtype.numpy),)


def _types_fit(site: Site[Resample]) -> bool:
    data, output = site.input(0), site.outputs[0]
    if data.quant is None:
        return data.dtype is DType.FLOAT32 and output.quant is None
    return data.dtype in QUANTIZED and data.quant.per_tensor and data.quant == output.quant


def _tables_fit(site: Site[Resample]) -> bool:
    places, weights = site.constant(1), site.constant(2)
    if places is None or weights is None or not 0 <= site.attrs.axis < len(site.input(0).shape):
        return False
    extent = site.input(0).shape[site.attrs.axis]
    return (
        places.ndim == 2
        and places.shape == weights.shape
        and bool((places >= 0).all())
        and bool((places < extent).all())
        and bool((np.abs(weights.astype(np.float64)).sum(axis=1) < 2).all())
    )


OP = Operator(
    attrs=Resample,
    roles=("data", "places", "weights"),
    doc="weighted sums of elements along an axis",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        size_constraint(),
        Constraint(
            "places and weights are constants [size, taps], on the axis, with sums of sizes below 2",
            _tables_fit,
            lambda site: f"{describe(site.input(1))}, {describe(site.input(2))}, axis {site.attrs.axis}",
            "repair the model",
            gate=True,
        ),
        Constraint(
            "the elements are float32, or quantized with one scale that the output has too",
            _types_fit,
            lambda site: f"{describe(site.input(0))} and {describe(site.outputs[0])}",
            "cast to float32 before the resize",
        ),
    ),
)
