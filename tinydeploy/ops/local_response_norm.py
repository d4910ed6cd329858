"""LocalResponseNorm: each element divided by a power of the squares of its neighbours in the last axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.float_windows import float_types


@dataclass(frozen=True, slots=True)
class LocalResponseNorm(Attrs):
    """``x / (bias + alpha * sum(x**2)) ** beta``, summed over ``before``, this and ``after`` elements."""

    before: int
    after: int
    alpha: float
    beta: float
    bias: float


def _reference(site: Site[LocalResponseNorm], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    attrs, data = site.attrs, operand(arrays, 0).astype(np.float64)
    channels = data.shape[-1]
    total = np.zeros_like(data)
    for channel in range(channels):
        part = data[..., max(channel - attrs.before, 0) : channel + attrs.after + 1]
        total[..., channel] = (part**2).sum(axis=-1)
    alpha, beta, bias = (float(np.float32(number)) for number in (attrs.alpha, attrs.beta, attrs.bias))
    return ((data / (bias + alpha * total) ** beta).astype(np.float32),)


OP = Operator(
    attrs=LocalResponseNorm,
    roles=("data",),
    doc="local response normalization across the last axis",
    infer=lambda site: (TensorType(site.input(0).dtype, site.input(0).shape),),
    reference=_reference,
    macs=no_macs,
    constraints=(
        float_types(),
        Constraint(
            "the input has at least one dimension",
            lambda site: len(site.input(0).shape) > 0,
            lambda site: "a single number",
            "remove the operator",
            gate=True,
        ),
        Constraint(
            "the window holds the element itself, and bias and alpha keep the sum positive",
            lambda site: (
                min(site.attrs.before, site.attrs.after) >= 0
                and site.attrs.bias > 0
                and site.attrs.alpha >= 0
            ),
            lambda site: (
                f"{site.attrs.before} before, {site.attrs.after} after, "
                f"bias {site.attrs.bias:g}, alpha {site.attrs.alpha:g}"
            ),
            "repair the model",
        ),
    ),
)
