"""MaxPool2D: largest element of a window; padding does not count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs
from tinydeploy.ops.base import Operator, Site, is_plain, no_macs, operand
from tinydeploy.ops.float_pools import one_type, plain_maximum
from tinydeploy.ops.pooling import pool_constraints, pool_infer, windows
from tinydeploy.ops.quantized import Activation, activation_limits
from tinydeploy.ops.window import Pair, padded, tap


@dataclass(frozen=True, slots=True)
class MaxPool2D(Attrs):
    """``padding`` is ((top, bottom), (left, right)) in elements; pairs are (vertical, horizontal).

    ``beyond`` is what the last windows may reach over the padding.
    """

    size: Pair
    stride: Pair
    padding: tuple[Pair, Pair] = ((0, 0), (0, 0))
    activation: Activation = Activation.NONE
    dilation: Pair = (1, 1)
    beyond: Pair = (0, 0)


def _reference(site: Site[MaxPool2D], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    if is_plain(site):
        return (plain_maximum(site, arrays),)
    data = operand(arrays, 0)
    vertical, horizontal = windows(site.attrs)
    output = site.outputs[0]
    extents = output.shape[1], output.shape[2]
    lowest = output.dtype.limits[0]
    image = padded(data, *site.attrs.padding, lowest)
    largest = np.full(output.shape, lowest, output.dtype.numpy)
    for row in range(vertical.size):
        for column in range(horizontal.size):
            largest = np.maximum(largest, tap(image, vertical, horizontal, row, column, extents))
    low, high = activation_limits(site.attrs.activation, output)
    return (np.clip(largest, low, high).astype(output.dtype.numpy),)


OP = Operator(
    attrs=MaxPool2D,
    roles=("data",),
    doc="largest element of a window, padding not counted",
    infer=pool_infer,
    reference=_reference,
    macs=no_macs,
    constraints=pool_constraints(one_type()),
)
