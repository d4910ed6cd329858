"""Relu: a clamp that is an operator of its own, with a change of scale where input and output differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import quantize_multiplier
from tinydeploy.ir import Array, Attrs
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, only
from tinydeploy.ops.binary import fits_32_bits
from tinydeploy.ops.formula import Element, Formula, Number, scaled
from tinydeploy.ops.plain import NUMBERS, activated, by_kind, plain_reference, plain_types
from tinydeploy.ops.quantized import (
    Activation,
    activation_limits,
    activations,
    distance_from_zero,
    is_quantized,
    quant_of,
)
from tinydeploy.ops.unary import formula_reference, same_infer


@dataclass(frozen=True, slots=True)
class Relu(Attrs):
    """``activation`` names the clamp."""

    activation: Activation = Activation.RELU


def _factor(site: Site[Relu]) -> tuple[int, int]:
    """(multiplier, shift); TFLite Micro divides the scales in float32."""
    scales = (np.float32(quant_of(type_).scale) for type_ in (site.input(0), site.outputs[0]))
    with np.errstate(over="ignore"):
        return quantize_multiplier(min(float(next(scales) / next(scales)), 2.0**40))


def formula(site: Site[Relu]) -> Formula:
    centred = Element(0) - Number("zero_point", quant_of(site.input(0)).zero_point)
    steps = scaled(centred, "", _factor(site))
    total = steps + Number("output_zero_point", quant_of(site.outputs[0]).zero_point)
    return Formula((), total, *activation_limits(site.attrs.activation, site.outputs[0]))


def _plain(site: Site[Relu], data: tuple[Array, ...]) -> Array:
    return activated(site.attrs.activation, data[0])


OP = Operator(
    attrs=Relu,
    roles=("data",),
    doc="clamp to [0, inf), [0, 6], [-1, 1] or [0, 1]",
    infer=same_infer,
    reference=by_kind(formula_reference(formula), plain_reference(_plain)),
    macs=no_macs,
    constraints=(
        *only(
            is_quantized,
            activations(0),
            Constraint(
                "the output's scale is not so small that an element, brought to it, leaves 32 bits",
                lambda site: fits_32_bits(distance_from_zero(site.input(0)), _factor(site)[1]),
                lambda site: f"output scale {quant_of(site.outputs[0]).scale:g}",
                "calibrate the output's range on real data",
            ),
            Constraint(
                "RELU6 has the same scale and zero point at input and output",
                lambda site: (
                    site.attrs.activation is not Activation.RELU6
                    or site.input(0).quant == site.outputs[0].quant
                ),
                lambda site: f"{site.input(0).quant} and {site.outputs[0].quant}",
                "convert the model again: TensorFlow Lite Micro would not bring the output to its scale",
            ),
        ),
        *plain_types(NUMBERS, 0),
    ),
)
