"""AveragePool2D: mean over a window; padding does not count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import Int64, Rounding, multiply_half_even, quantize_multipliers
from tinydeploy.ir import Array, Attrs
from tinydeploy.ops.base import Operator, Site, is_plain, no_macs, operand
from tinydeploy.ops.blend import is_once
from tinydeploy.ops.float_pools import around, float_average, tap_counts
from tinydeploy.ops.float_windows import float_types
from tinydeploy.ops.pooling import pool_constraints, pool_infer, windows
from tinydeploy.ops.quantized import Activation, activation_limits, quant_of
from tinydeploy.ops.window import Pair, padded, tap


@dataclass(frozen=True, slots=True)
class AveragePool2D(Attrs):
    """``padding`` is ((top, bottom), (left, right)) in elements; pairs are (vertical, horizontal).

    ``count_include_pad`` lets padding count as zeros; what lies ``beyond`` it never counts. ``ties_up``:
    steps half-way between two go up, as TFLite's uint8 does, instead of away from zero.
    """

    size: Pair
    stride: Pair
    padding: tuple[Pair, Pair] = ((0, 0), (0, 0))
    activation: Activation = Activation.NONE
    dilation: Pair = (1, 1)
    beyond: Pair = (0, 0)
    count_include_pad: bool = False
    rounding: Rounding = Rounding.TFLITE
    ties_up: bool = False


def _reference(site: Site[AveragePool2D], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    if is_plain(site):
        return (float_average(site, arrays),)
    if is_once(site):
        return (_once(site, operand(arrays, 0)),)
    data = operand(arrays, 0)
    vertical, horizontal = windows(site.attrs)
    output = site.outputs[0]
    extents = output.shape[1], output.shape[2]
    image = padded(data.astype(np.int64), *site.attrs.padding, 0)
    inside = padded(np.ones((1, *data.shape[1:3], 1), np.int64), *site.attrs.padding, 0)
    total = np.zeros(output.shape, np.int64)
    count = np.zeros((1, *extents, 1), np.int64)
    for row in range(vertical.size):
        for column in range(horizontal.size):
            total += tap(image, vertical, horizontal, row, column, extents)
            count += tap(inside, vertical, horizontal, row, column, extents)
    if site.attrs.ties_up:
        mean = (total + count // 2) // count
    else:
        mean = np.sign(total) * ((np.abs(total) + count // 2) // count)
    low, high = activation_limits(site.attrs.activation, output)
    return (np.clip(mean, low, high).astype(output.dtype.numpy),)


def factors_of(site: Site[AveragePool2D]) -> tuple[Int64, Int64]:
    """(multipliers, shifts) from a sum of steps to output steps, by the number of taps that count."""
    most = int(tap_counts(site).max())
    real = quant_of(site.input(0)).scale / quant_of(site.outputs[0]).scale
    return quantize_multipliers([real / max(count, 1) for count in range(most + 1)])


def _once(site: Site[AveragePool2D], data: Array) -> Array:
    vertical, horizontal = windows(site.attrs)
    output, source = site.outputs[0], quant_of(site.input(0))
    image = around(site, data.astype(np.int64) - source.zero_point, 0)
    total = np.zeros(output.shape, np.int64)
    for row in range(vertical.size):
        for column in range(horizontal.size):
            total += tap(image, vertical, horizontal, row, column, (output.shape[1], output.shape[2]))
    multipliers, shifts = factors_of(site)
    counts = tap_counts(site)
    steps = multiply_half_even(total, multipliers[counts], shifts[counts]) + quant_of(output).zero_point
    return np.clip(steps, *activation_limits(site.attrs.activation, output)).astype(output.dtype.numpy)


OP = Operator(
    attrs=AveragePool2D,
    roles=("data",),
    doc="mean over a window, padding not counted",
    infer=pool_infer,
    reference=_reference,
    macs=no_macs,
    constraints=pool_constraints(float_types()),
)
