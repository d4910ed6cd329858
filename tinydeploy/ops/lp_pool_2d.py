"""LpPool2D: the p-norm of a window's elements; padding counts as zeros."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.convolution import plain_image_constraints
from tinydeploy.ops.float_pools import around
from tinydeploy.ops.float_windows import clamped, float_types
from tinydeploy.ops.pooling import pool_infer, window_constraint, windows
from tinydeploy.ops.quantized import Activation
from tinydeploy.ops.window import Pair, tap


@dataclass(frozen=True, slots=True)
class LpPool2D(Attrs):
    """``sum(|x| ** order) ** (1 / order)``; windows as in AveragePool2D."""

    size: Pair
    stride: Pair
    padding: tuple[Pair, Pair] = ((0, 0), (0, 0))
    activation: Activation = Activation.NONE
    dilation: Pair = (1, 1)
    beyond: Pair = (0, 0)
    order: int = 2


def _reference(site: Site[LpPool2D], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    vertical, horizontal = windows(site.attrs)
    shape, order = site.outputs[0].shape, site.attrs.order
    powers = np.abs(around(site, operand(arrays, 0).astype(np.float64), 0)) ** order
    total = np.zeros(shape, np.float64)
    for row in range(vertical.size):
        for column in range(horizontal.size):
            total += tap(powers, vertical, horizontal, row, column, (shape[1], shape[2]))
    return (clamped(total ** (1 / order), site.attrs.activation),)


OP = Operator(
    attrs=LpPool2D,
    roles=("data",),
    doc="p-norm of a window's elements",
    infer=pool_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        *plain_image_constraints(),
        float_types(),
        window_constraint(),
        Constraint(
            "the order of the norm is at least 1",
            lambda site: site.attrs.order >= 1,
            lambda site: f"order {site.attrs.order}",
            "repair the model",
        ),
    ),
)
