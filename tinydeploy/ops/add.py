"""Add: sum of two tensors, each with its own scale."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.fixed_point import quantize_multiplier
from tinydeploy.ir import Attrs
from tinydeploy.ops.base import AnySite, Constraint, Operator, Site, no_macs
from tinydeploy.ops.binary import binary_constraints, broadcast_infer, reference_of
from tinydeploy.ops.formula import Element, Formula, Name, Number, Raised, scaled
from tinydeploy.ops.quantized import Activation, activation_limits, quant_of

LEFT_SHIFT = 20
"""Bits by which TFLite raises int8 inputs before they are brought to a common scale."""


@dataclass(frozen=True, slots=True)
class Add(Attrs):
    """Element by element; the shapes broadcast."""

    activation: Activation = Activation.NONE


@dataclass(frozen=True, slots=True)
class Factors:
    """(multiplier, shift) of the two inputs and of the output."""

    inputs: tuple[tuple[int, int], tuple[int, int]]
    output: tuple[int, int]


def factors_of(site: Site[Add]) -> Factors:
    """TFLite's three factors: inputs to twice the larger input scale, from there to the output."""
    scales = quant_of(site.input(0)).scale, quant_of(site.input(1)).scale
    common = 2.0 * max(scales)
    return Factors(
        inputs=(quantize_multiplier(scales[0] / common), quantize_multiplier(scales[1] / common)),
        output=quantize_multiplier(common / ((1 << LEFT_SHIFT) * quant_of(site.outputs[0]).scale)),
    )


def formula(site: Site[Add]) -> Formula:
    return common_scale_formula(site, factors_of(site), subtract=False)


def common_scale_formula(site: AnySite, factors: Factors, *, subtract: bool) -> Formula:
    """Both inputs on a common scale, raised; their sum or difference brought to the output's scale."""
    sides = []
    for index, role in enumerate(("a_", "b_")):
        centred = Element(index) - Number(f"{role}zero_point", quant_of(site.input(index)).zero_point)
        sides.append(scaled(Raised(centred, LEFT_SHIFT), role, factors.inputs[index]))
    left, right = Name("left"), Name("right")
    total = left - right if subtract else left + right
    low, high = activation_limits(site.attrs.activation, site.outputs[0])
    return Formula(
        definitions=(("left", sides[0]), ("right", sides[1])),
        result=scaled(total, "", factors.output)
        + Number("output_zero_point", quant_of(site.outputs[0]).zero_point),
        low=low,
        high=high,
    )


OP = Operator(
    attrs=Add,
    roles=("a", "b"),
    doc="sum of two tensors, element by element, shapes broadcast",
    infer=broadcast_infer,
    reference=reference_of(formula),
    macs=no_macs,
    constraints=(
        *binary_constraints(),
        Constraint(
            "the output's scale is not so small that a sum of inputs overflows 32 bits",
            lambda site: factors_of(site).output[1] <= 0,
            lambda site: f"output scale {quant_of(site.outputs[0]).scale:g}",
            "calibrate the output's range on real data",
        ),
    ),
)
