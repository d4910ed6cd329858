"""Pools of plain numbers: means in float64, rounded once; largest elements of any type."""

from __future__ import annotations

import numpy as np

from tinydeploy.ir import Array, DType
from tinydeploy.ops.base import AnyConstraint, AnySite, Constraint, operand
from tinydeploy.ops.float_windows import clamped
from tinydeploy.ops.pooling import windows
from tinydeploy.ops.quantized import Activation, describe
from tinydeploy.ops.window import Pair, padded, tap


def lowest(dtype: DType) -> float:
    """What no element of a type is below: it stands where a maximum has padding."""
    return dtype.limits[0] if dtype.is_integer else -np.inf


def one_type() -> AnyConstraint:
    """Input and output are numbers of one type of whole bytes; for pools that choose among elements."""
    return Constraint(
        "without quantization, input and output have one element type of whole bytes",
        lambda site: (
            site.input(0).dtype is site.outputs[0].dtype
            and site.input(0).dtype not in (DType.INT4, DType.BOOL)
            and (site.attrs.activation is Activation.NONE or site.input(0).dtype is DType.FLOAT32)
        ),
        lambda site: ", ".join(map(describe, (site.input(0), site.outputs[0]))),
        "convert the model with float32 or with full int8 quantization",
        gate=True,
    )


def tap_counts(site: AnySite) -> Array:
    """[1, H_out, W_out, 1]: how many taps of each window count for its mean."""
    attrs = site.attrs
    vertical, horizontal = windows(attrs)
    extents = site.outputs[0].shape[1], site.outputs[0].shape[2]
    border: tuple[Pair, Pair] = attrs.padding
    (_, bottom), (_, right) = border
    counted = np.ones((1, *site.input(0).shape[1:3], 1), np.int64)
    counted = padded(counted, *border, 1 if attrs.count_include_pad else 0)
    counted = padded(counted, (0, vertical.after - bottom), (0, horizontal.after - right), 0)
    total = np.zeros((1, *extents, 1), np.int64)
    for row in range(vertical.size):
        for column in range(horizontal.size):
            total += tap(counted, vertical, horizontal, row, column, extents)
    return total


def around(site: AnySite, data: Array, value: float) -> Array:
    """The data with its padding and what the last windows reach beyond it."""
    vertical, horizontal = windows(site.attrs)
    return padded(data, (vertical.before, vertical.after), (horizontal.before, horizontal.after), value)


def float_average(site: AnySite, arrays: tuple[Array | None, ...]) -> Array:
    vertical, horizontal = windows(site.attrs)
    shape = site.outputs[0].shape
    image = around(site, operand(arrays, 0).astype(np.float64), 0)
    total = np.zeros(shape, np.float64)
    for row in range(vertical.size):
        for column in range(horizontal.size):
            total += tap(image, vertical, horizontal, row, column, (shape[1], shape[2]))
    return clamped(total / tap_counts(site), site.attrs.activation)


def plain_maximum(site: AnySite, arrays: tuple[Array | None, ...]) -> Array:
    vertical, horizontal = windows(site.attrs)
    type_ = site.outputs[0]
    bottom = lowest(type_.dtype)
    image = around(site, operand(arrays, 0), bottom)
    largest = np.full(type_.shape, bottom, type_.dtype.numpy)
    for row in range(vertical.size):
        for column in range(horizontal.size):
            largest = np.maximum(
                largest, tap(image, vertical, horizontal, row, column, (type_.shape[1], type_.shape[2]))
            )
    return clamped(largest, site.attrs.activation) if type_.dtype is DType.FLOAT32 else largest
