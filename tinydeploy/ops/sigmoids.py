"""What Logistic and Tanh share: TFLite's way into fixed point with 4 integer bits."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tinydeploy.fixed_point import Int64, multiply_by_quantized_multiplier, quantize_multiplier
from tinydeploy.ir import Array, DType, Quant
from tinydeploy.ops.base import AnyConstraint, AnySite, Constraint
from tinydeploy.ops.quantized import quant_of
from tinydeploy.ops.unary import Reference
from tinydeploy.ops.wide_tables import Brought, brought

INTEGER_BITS = 4

WIDE_RESULT = Quant((1 / 32768,), (0,))
"""What int16 results mean."""


def _factor(site: AnySite) -> tuple[int, int]:
    return quantize_multiplier(quant_of(site.input(0)).scale * (1 << (31 - INTEGER_BITS)))


def saturating(site: AnySite, centred: Int64, function: Callable[[Int64], Int64]) -> Int64:
    """``function`` of the input in Q4.27 while it is inside that range, int8's ends outside."""
    multiplier, shift = _factor(site)
    # The distance from zero at which TFLite leaves the fixed-point range.
    radius = math.floor(((1 << INTEGER_BITS) - 1) * (1 << (31 - INTEGER_BITS)) / 2.0**shift)
    inside = np.abs(centred) < radius
    result = function(multiply_by_quantized_multiplier(np.where(inside, centred, 0), multiplier, shift))
    return np.asarray(np.where(inside, result, np.where(centred < 0, -128, 127)), np.int64)


def is_wide(site: AnySite) -> bool:
    """Whether the steps are int16."""
    return site.input(0).dtype is DType.INT16


def by_width(narrow: Reference, wide: Reference) -> Reference:
    """The reference of int8 steps or that of int16 steps."""

    def reference(site: AnySite, arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
        return (wide if is_wide(site) else narrow)(site, arrays)

    return reference


def brought_of(site: AnySite, shifts: tuple[int, ...]) -> Brought:
    """How int16 steps reach their table."""
    return brought(quant_of(site.input(0)).scale, shifts)


def _scale_fits(site: AnySite) -> bool:
    if is_wide(site):
        return quant_of(site.input(0)).zero_point == 0 and quant_of(site.input(0)).scale * 12288 < 1 << 15
    return 1 <= _factor(site)[1] <= 28


def scale_constraint() -> AnyConstraint:
    """The input's scale makes a multiplier that TFLite's fixed point can hold."""
    return Constraint(
        "the input's scale is between 2**-26 and 2; int16 steps count from 0",
        _scale_fits,
        lambda site: f"scale {quant_of(site.input(0)).scale:g}",
        "calibrate the input's range on real data",
    )
