"""AveragePool2D: mean over a window; padding does not count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs
from tinydeploy.ops.base import Operator, Site, no_macs, operand
from tinydeploy.ops.pooling import pool_constraints, pool_infer, windows
from tinydeploy.ops.quantized import Activation, activation_limits
from tinydeploy.ops.window import Pair, padded, tap


@dataclass(frozen=True, slots=True)
class AveragePool2D(Attrs):
    """``padding`` is ((top, bottom), (left, right)) in elements; pairs are (vertical, horizontal)."""

    size: Pair
    stride: Pair
    padding: tuple[Pair, Pair] = ((0, 0), (0, 0))
    activation: Activation = Activation.NONE


def _reference(site: Site[AveragePool2D], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
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
    # Rounded to nearest, ties away from zero.
    mean = np.sign(total) * ((np.abs(total) + count // 2) // count)
    low, high = activation_limits(site.attrs.activation, output)
    return (np.clip(mean, low, high).astype(output.dtype.numpy),)


OP = Operator(
    attrs=AveragePool2D,
    roles=("data",),
    doc="mean over a window, padding not counted",
    infer=pool_infer,
    reference=_reference,
    macs=no_macs,
    constraints=pool_constraints(),
)
