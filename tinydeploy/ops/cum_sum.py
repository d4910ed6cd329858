"""CumSum: sums, or products, of the plain elements up to each place along one axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs
from tinydeploy.ops.base import Operator, Site, no_macs
from tinydeploy.ops.plain import NUMBERS, not_quantized, plain_reference, plain_types, widened
from tinydeploy.ops.reduction import axis_constraint
from tinydeploy.ops.unary import same_infer


@dataclass(frozen=True, slots=True)
class CumSum(Attrs):
    """``exclusive`` sums leave out the element at the place itself; ``reverse`` ones come from the end.

    With ``product`` elements are multiplied.
    """

    axis: int
    exclusive: bool = False
    reverse: bool = False
    product: bool = False


def _compute(site: Site[CumSum], data: tuple[Array, ...]) -> Array:
    attrs, x = site.attrs, widened(data[0])
    if attrs.reverse:
        x = np.flip(x, attrs.axis)
    run = np.multiply if attrs.product else np.add
    total = np.asarray(run.accumulate(x, axis=attrs.axis, dtype=x.dtype))
    if attrs.exclusive:
        first = np.full_like(np.take(total, [0], axis=attrs.axis), int(attrs.product))
        before = np.take(total, np.arange(x.shape[attrs.axis] - 1), axis=attrs.axis)
        total = np.concatenate([first, before], axis=attrs.axis)
    return np.flip(total, attrs.axis) if attrs.reverse else total


OP = Operator(
    attrs=CumSum,
    roles=("data",),
    doc="running sums or products along one axis",
    infer=same_infer,
    reference=plain_reference(_compute),
    macs=no_macs,
    constraints=(not_quantized(), *plain_types(NUMBERS, 0), axis_constraint()),
)
