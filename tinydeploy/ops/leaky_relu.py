"""LeakyRelu: elements below zero are multiplied by one slope."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import Int64, multiply_by_quantized_multiplier, quantize_multiplier
from tinydeploy.ir import Attrs
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs
from tinydeploy.ops.binary import fits_32_bits
from tinydeploy.ops.quantized import int8_activations, quant_of
from tinydeploy.ops.unary import reference_of, same_infer


@dataclass(frozen=True, slots=True)
class LeakyRelu(Attrs):
    """``x >= 0 ? x : alpha * x``."""

    alpha: float


def _factors(site: Site[LeakyRelu]) -> tuple[tuple[int, int], tuple[int, int]]:
    """(multiplier, shift) from zero on and below it; TFLite Micro computes both in float32."""
    scale, output = (np.float32(quant_of(type_).scale) for type_ in (site.input(0), site.outputs[0]))
    with np.errstate(over="ignore", under="ignore"):
        identity = float(scale / output)
        slope = float(scale * np.float32(site.attrs.alpha) / output)
    return quantize_multiplier(min(identity, 2.0**40)), quantize_multiplier(min(slope, 2.0**40))


def _steps(site: Site[LeakyRelu], centred: Int64) -> Int64:
    identity, slope = _factors(site)
    steps = np.where(
        centred >= 0,
        multiply_by_quantized_multiplier(centred, *identity),
        multiply_by_quantized_multiplier(centred, *slope),
    )
    return np.asarray(steps + quant_of(site.outputs[0]).zero_point, np.int64)


OP = Operator(
    attrs=LeakyRelu,
    roles=("data",),
    doc="elements below zero times a slope",
    infer=same_infer,
    reference=reference_of(_steps),
    macs=no_macs,
    constraints=(
        int8_activations(0),
        Constraint(
            "the slope is a number from 0 on",
            lambda site: math.isfinite(site.attrs.alpha) and site.attrs.alpha >= 0,
            lambda site: f"{site.attrs.alpha:g}",
            "replace the operator by multiplications and a maximum",
            gate=True,
        ),
        Constraint(
            "the output's scale is not so small that an element, brought to it, leaves 32 bits",
            lambda site: all(fits_32_bits(255, shift) for _, shift in _factors(site)),
            lambda site: f"output scale {quant_of(site.outputs[0]).scale:g}",
            "calibrate the output's range on real data",
        ),
    ),
)
