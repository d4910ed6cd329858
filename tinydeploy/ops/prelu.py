"""Prelu: elements below zero are multiplied by a slope of their own, by channel or element."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import Rounding, quantize_multiplier
from tinydeploy.ir import Array, Attrs
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, only
from tinydeploy.ops.binary import binary_constraints, broadcast_infer, fits_32_bits, reference_of
from tinydeploy.ops.blend import (
    Blend,
    blend,
    blend_constraint,
    blend_reference,
    by_rounding,
    is_once,
    is_twice,
)
from tinydeploy.ops.formula import Chosen, Element, Formula, Name, Number, scaled
from tinydeploy.ops.plain import FLOATS, SIGNED, by_kind, plain_reference, widened
from tinydeploy.ops.quantized import quant_of

PEAK = 255 * 255


@dataclass(frozen=True, slots=True)
class Prelu(Attrs):
    """``x >= 0 ? x : alpha * x``; the shapes broadcast."""

    rounding: Rounding = Rounding.TFLITE


def factors_of(site: Site[Prelu]) -> tuple[tuple[int, int], tuple[int, int]]:
    """(multiplier, shift) of elements from zero on, and of products with the slope."""
    scale = quant_of(site.input(0)).scale
    output = quant_of(site.outputs[0]).scale
    return (
        quantize_multiplier(scale / output),
        quantize_multiplier(scale * quant_of(site.input(1)).scale / output),
    )


def formula(site: Site[Prelu]) -> Formula:
    low, high = site.outputs[0].dtype.limits
    identity, slope = factors_of(site)
    alpha = Element(1) - Number("alpha_zero_point", quant_of(site.input(1)).zero_point)
    x = Name("x")
    return Formula(
        definitions=(("x", Element(0) - Number("input_zero_point", quant_of(site.input(0)).zero_point)),),
        result=Chosen(x, scaled(x, "", identity), scaled(x * alpha, "alpha_", slope))
        + Number("output_zero_point", quant_of(site.outputs[0]).zero_point),
        low=low,
        high=high,
    )


def blend_of(site: Site[Prelu]) -> Blend:
    return blend(site, [(1.0, (0,)), (1.0, (0, 1))], (1, -1))


def _plain(_site: Site[Prelu], data: tuple[Array, ...]) -> Array:
    x, alpha = map(widened, data)
    return np.where(x < 0, x * alpha, x)


OP = Operator(
    attrs=Prelu,
    roles=("data", "alpha"),
    doc="elements below zero times a slope, slopes broadcast",
    infer=broadcast_infer,
    reference=by_kind(by_rounding(reference_of(formula), blend_reference(blend_of)), plain_reference(_plain)),
    macs=no_macs,
    constraints=(
        *only(is_once, blend_constraint(0, 1)),
        *binary_constraints((*FLOATS, *SIGNED)),
        *only(
            is_twice,
            Constraint(
                "the output's scale is not so small that an element, brought to it, leaves 32 bits",
                lambda site: all(
                    fits_32_bits(peak, shift)
                    for peak, (_, shift) in zip((255, PEAK), factors_of(site), strict=True)
                ),
                lambda site: f"output scale {quant_of(site.outputs[0]).scale:g}",
                "calibrate the output's range on real data",
            ),
        ),
    ),
)
