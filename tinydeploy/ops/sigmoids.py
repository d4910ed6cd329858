"""What Logistic and Tanh share: TFLite's way into fixed point with 4 integer bits."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tinydeploy.fixed_point import Int64, multiply_by_quantized_multiplier, quantize_multiplier
from tinydeploy.ops.base import AnyConstraint, AnySite, Constraint
from tinydeploy.ops.quantized import quant_of

INTEGER_BITS = 4


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


def scale_constraint() -> AnyConstraint:
    """The input's scale makes a multiplier that TFLite's fixed point can hold."""
    return Constraint(
        "the input's scale is between 2**-26 and 2",
        lambda site: 1 <= _factor(site)[1] <= 28,
        lambda site: f"scale {quant_of(site.input(0)).scale:g}",
        "calibrate the input's range on real data",
    )
