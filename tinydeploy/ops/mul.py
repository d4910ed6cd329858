"""Mul: product of two tensors, each with its own scale."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.fixed_point import quantize_multiplier
from tinydeploy.ir import Attrs
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs
from tinydeploy.ops.binary import binary_constraints, broadcast_infer, fits_32_bits, reference_of
from tinydeploy.ops.formula import Element, Formula, Number, scaled
from tinydeploy.ops.quantized import Activation, activation_limits, quant_of

PEAK = 255 * 255


@dataclass(frozen=True, slots=True)
class Mul(Attrs):
    """Element by element; the shapes broadcast."""

    activation: Activation = Activation.NONE


def factor_of(site: Site[Mul]) -> tuple[int, int]:
    """(multiplier, shift) from a product of steps to output steps."""
    a, b, output = (quant_of(type_).scale for type_ in (site.input(0), site.input(1), site.outputs[0]))
    return quantize_multiplier(a * b / output)


def formula(site: Site[Mul]) -> Formula:
    low, high = activation_limits(site.attrs.activation, site.outputs[0])
    a = Element(0) - Number("a_zero_point", quant_of(site.input(0)).zero_point)
    b = Element(1) - Number("b_zero_point", quant_of(site.input(1)).zero_point)
    zero_point = Number("output_zero_point", quant_of(site.outputs[0]).zero_point)
    return Formula((), scaled(a * b, "", factor_of(site)) + zero_point, low, high)


OP = Operator(
    attrs=Mul,
    roles=("a", "b"),
    doc="product of two tensors, element by element, shapes broadcast",
    infer=broadcast_infer,
    reference=reference_of(formula),
    macs=no_macs,
    constraints=(
        *binary_constraints(),
        Constraint(
            "the output's scale is not so small that a product, brought to it, leaves 32 bits",
            lambda site: fits_32_bits(PEAK, factor_of(site)[1]),
            lambda site: f"output scale {quant_of(site.outputs[0]).scale:g}",
            "calibrate the output's range on real data",
        ),
    ),
)
