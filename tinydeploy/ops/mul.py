"""Mul: product of two tensors, each with its own scale."""

from __future__ import annotations

import math
from dataclasses import dataclass

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
from tinydeploy.ops.formula import Element, Formula, Number, scaled
from tinydeploy.ops.plain import activated, by_kind, plain_reference, widened
from tinydeploy.ops.quantized import Activation, activation_limits, distance_from_zero, quant_of


@dataclass(frozen=True, slots=True)
class Mul(Attrs):
    """Element by element; the shapes broadcast."""

    activation: Activation = Activation.NONE
    rounding: Rounding = Rounding.TFLITE


def factor_of(site: Site[Mul]) -> tuple[int, int]:
    """(multiplier, shift) from a product of steps to output steps."""
    a, b, output = (quant_of(type_).scale for type_ in (site.input(0), site.input(1), site.outputs[0]))
    return quantize_multiplier(a * b / output)


def _peak(site: Site[Mul]) -> int:
    """The largest product of steps, zero points subtracted."""
    return math.prod(distance_from_zero(site.input(index)) for index in range(2))


def formula(site: Site[Mul]) -> Formula:
    low, high = activation_limits(site.attrs.activation, site.outputs[0])
    a = Element(0) - Number("a_zero_point", quant_of(site.input(0)).zero_point)
    b = Element(1) - Number("b_zero_point", quant_of(site.input(1)).zero_point)
    zero_point = Number("output_zero_point", quant_of(site.outputs[0]).zero_point)
    return Formula((), scaled(a * b, "", factor_of(site)) + zero_point, low, high)


def blend_of(site: Site[Mul]) -> Blend:
    return blend(site, [(1.0, (0, 1))])


def _plain(site: Site[Mul], data: tuple[Array, ...]) -> Array:
    return activated(site.attrs.activation, widened(data[0]) * widened(data[1]))


OP = Operator(
    attrs=Mul,
    roles=("a", "b"),
    doc="product of two tensors, element by element, shapes broadcast",
    infer=broadcast_infer,
    reference=by_kind(by_rounding(reference_of(formula), blend_reference(blend_of)), plain_reference(_plain)),
    macs=no_macs,
    constraints=(
        *only(is_once, blend_constraint(0, 1)),
        *binary_constraints(),
        *only(
            is_twice,
            Constraint(
                "the output's scale is not so small that a product, brought to it, leaves 32 bits",
                lambda site: fits_32_bits(_peak(site), factor_of(site)[1]),
                lambda site: f"output scale {quant_of(site.outputs[0]).scale:g}",
                "calibrate the output's range on real data",
            ),
        ),
    ),
)
