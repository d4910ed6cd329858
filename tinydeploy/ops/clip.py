"""Clip: plain elements between two bounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs
from tinydeploy.ops.base import AnySite, Constraint, Operator, Site, no_macs
from tinydeploy.ops.plain import NUMBERS, not_quantized, plain_reference, plain_types
from tinydeploy.ops.unary import same_infer


@dataclass(frozen=True, slots=True)
class Clip(Attrs):
    """``min(max(x, low), high)``; a bound that is None does not bound. Those of integers are whole."""

    low: float | None = None
    high: float | None = None


def _compute(site: Site[Clip], data: tuple[Array, ...]) -> Array:
    x = data[0]
    if site.attrs.low is not None:
        x = np.maximum(x, np.asarray(site.attrs.low, x.dtype))
    if site.attrs.high is not None:
        x = np.minimum(x, np.asarray(site.attrs.high, x.dtype))
    return x


def _bounds_fit(site: AnySite) -> bool:
    dtype = site.input(0).dtype
    bounds = [bound for bound in (site.attrs.low, site.attrs.high) if bound is not None]
    if not dtype.is_integer:
        return bool(np.isfinite(np.array(bounds, np.float64)).all())
    low, high = dtype.limits
    return all(low <= bound <= high and int(bound) == bound for bound in bounds)


OP = Operator(
    attrs=Clip,
    roles=("data",),
    doc="elements between two bounds",
    infer=same_infer,
    reference=plain_reference(_compute),
    macs=no_macs,
    constraints=(
        not_quantized(),
        *plain_types(NUMBERS, 0),
        Constraint(
            "the bounds are finite numbers of the data's type",
            _bounds_fit,
            lambda site: f"{site.attrs.low} and {site.attrs.high} for {site.input(0).dtype.value}",
            "leave out a bound that does not bound",
        ),
    ),
)
