"""LeakyRelu: elements below zero are multiplied by one slope."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import quantize_multiplier
from tinydeploy.ir import Array, Attrs
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, only
from tinydeploy.ops.binary import fits_32_bits
from tinydeploy.ops.formula import Chosen, Element, Formula, Name, Number, scaled
from tinydeploy.ops.plain import FLOATS, by_kind, plain_reference, plain_types, widened
from tinydeploy.ops.quantized import activations, distance_from_zero, is_quantized, quant_of
from tinydeploy.ops.unary import formula_reference, same_infer


@dataclass(frozen=True, slots=True)
class LeakyRelu(Attrs):
    """``x >= 0 ? x : alpha * x``."""

    alpha: float


def _factors(site: Site[LeakyRelu]) -> tuple[tuple[int, int], tuple[int, int]]:
    """(multiplier, shift) from zero on and below it."""
    scale, output = quant_of(site.input(0)).scale, quant_of(site.outputs[0]).scale
    identity, slope = scale / output, scale * float(np.float32(site.attrs.alpha)) / output
    return quantize_multiplier(min(identity, 2.0**40)), quantize_multiplier(min(slope, 2.0**40))


def formula(site: Site[LeakyRelu]) -> Formula:
    identity, slope = _factors(site)
    centred = Element(0) - Number("zero_point", quant_of(site.input(0)).zero_point)
    chosen = Chosen(
        Name("centred"), scaled(Name("centred"), "", identity), scaled(Name("centred"), "s_", slope)
    )
    total = chosen + Number("output_zero_point", quant_of(site.outputs[0]).zero_point)
    return Formula((("centred", centred),), total, *site.outputs[0].dtype.limits)


def _plain(site: Site[LeakyRelu], data: tuple[Array, ...]) -> Array:
    x = widened(data[0])
    return np.where(x < 0, x * float(np.float32(site.attrs.alpha)), x)


OP = Operator(
    attrs=LeakyRelu,
    roles=("data",),
    doc="elements below zero times a slope",
    infer=same_infer,
    reference=by_kind(formula_reference(formula), plain_reference(_plain)),
    macs=no_macs,
    constraints=(
        *only(is_quantized, activations(0)),
        *plain_types(FLOATS, 0),
        Constraint(
            "the slope is a number, from 0 on where the data is quantized",
            lambda site: (
                math.isfinite(site.attrs.alpha) and (site.attrs.alpha >= 0 or not is_quantized(site))
            ),
            lambda site: f"{site.attrs.alpha:g}",
            "replace the operator by multiplications and a maximum",
            gate=True,
        ),
        *only(
            is_quantized,
            Constraint(
                "the output's scale is not so small that an element, brought to it, leaves 32 bits",
                lambda site: all(
                    fits_32_bits(distance_from_zero(site.input(0)), shift) for _, shift in _factors(site)
                ),
                lambda site: f"output scale {quant_of(site.outputs[0]).scale:g}",
                "calibrate the output's range on real data",
            ),
        ),
    ),
)
