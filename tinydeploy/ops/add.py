"""Add: sum of two tensors, each with its own scale."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.fixed_point import Rounding, quantize_multiplier
from tinydeploy.ir import Array, Attrs
from tinydeploy.ops.base import AnySite, Constraint, Operator, Site, no_macs, only
from tinydeploy.ops.binary import binary_constraints, broadcast_infer, reference_of
from tinydeploy.ops.blend import (
    Blend,
    blend,
    blend_constraint,
    blend_reference,
    by_rounding,
    is_once,
    is_twice,
)
from tinydeploy.ops.formula import Element, Formula, Name, Number, Raised, scaled
from tinydeploy.ops.plain import activated, by_kind, plain_reference, widened
from tinydeploy.ops.quantized import Activation, activation_limits, quant_of

LEFT_SHIFTS = {8: 20, 16: 15}
"""Bits by which TFLite raises inputs of 8 or 16 bits before they are brought to a common scale."""


@dataclass(frozen=True, slots=True)
class Add(Attrs):
    """Element by element; the shapes broadcast."""

    activation: Activation = Activation.NONE
    rounding: Rounding = Rounding.TFLITE


@dataclass(frozen=True, slots=True)
class Factors:
    """(multiplier, shift) of the two inputs and of the output."""

    inputs: tuple[tuple[int, int], tuple[int, int]]
    output: tuple[int, int]


def left_shift(site: AnySite) -> int:
    """The raise of the inputs of Add or Sub."""
    return LEFT_SHIFTS[site.outputs[0].dtype.bits]


def factors_of(site: Site[Add]) -> Factors:
    """TFLite's three factors: inputs to twice the larger input scale, from there to the output."""
    scales = quant_of(site.input(0)).scale, quant_of(site.input(1)).scale
    common = 2.0 * max(scales)
    return Factors(
        inputs=(quantize_multiplier(scales[0] / common), quantize_multiplier(scales[1] / common)),
        output=quantize_multiplier(common / ((1 << left_shift(site)) * quant_of(site.outputs[0]).scale)),
    )


def formula(site: Site[Add]) -> Formula:
    return common_scale_formula(site, factors_of(site), subtract=False)


def common_scale_formula(site: AnySite, factors: Factors, *, subtract: bool) -> Formula:
    """Both inputs on a common scale, raised; their sum or difference brought to the output's scale."""
    sides = []
    for index, role in enumerate(("a_", "b_")):
        centred = Element(index) - Number(f"{role}zero_point", quant_of(site.input(index)).zero_point)
        sides.append(scaled(Raised(centred, left_shift(site)), role, factors.inputs[index]))
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


def blend_of(site: Site[Add]) -> Blend:
    return blend(site, [(1.0, (0,)), (1.0, (1,))])


def _plain(site: Site[Add], data: tuple[Array, ...]) -> Array:
    return activated(site.attrs.activation, widened(data[0]) + widened(data[1]))


OP = Operator(
    attrs=Add,
    roles=("a", "b"),
    doc="sum of two tensors, element by element, shapes broadcast",
    infer=broadcast_infer,
    reference=by_kind(by_rounding(reference_of(formula), blend_reference(blend_of)), plain_reference(_plain)),
    macs=no_macs,
    constraints=(
        *only(is_once, blend_constraint(0, 1)),
        *binary_constraints(),
        *only(
            is_twice,
            Constraint(
                "the output's scale is not so small that a sum of inputs overflows 32 bits",
                lambda site: factors_of(site).output[1] <= 0,
                lambda site: f"output scale {quant_of(site.outputs[0]).scale:g}",
                "calibrate the output's range on real data",
            ),
        ),
    ),
)
