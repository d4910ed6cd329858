"""Relu: a clamp that is an operator of its own, with a change of scale where input and output differ."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import Int64, multiply_by_quantized_multiplier, quantize_multiplier
from tinydeploy.ir import Attrs
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs
from tinydeploy.ops.binary import fits_32_bits
from tinydeploy.ops.quantized import Activation, activation_limits, int8_activations, quant_of
from tinydeploy.ops.unary import reference_of, same_infer


@dataclass(frozen=True, slots=True)
class Relu(Attrs):
    """``activation`` names the clamp."""

    activation: Activation = Activation.RELU


def _factor(site: Site[Relu]) -> tuple[int, int]:
    """(multiplier, shift); TFLite Micro divides the scales in float32."""
    scales = (np.float32(quant_of(type_).scale) for type_ in (site.input(0), site.outputs[0]))
    with np.errstate(over="ignore"):
        return quantize_multiplier(min(float(next(scales) / next(scales)), 2.0**40))


def _steps(site: Site[Relu], centred: Int64) -> Int64:
    low, high = activation_limits(site.attrs.activation, site.outputs[0])
    steps = multiply_by_quantized_multiplier(centred, *_factor(site))
    return np.clip(steps + quant_of(site.outputs[0]).zero_point, low, high)


OP = Operator(
    attrs=Relu,
    roles=("data",),
    doc="clamp to [0, inf), [0, 6], [-1, 1] or [0, 1]",
    infer=same_infer,
    reference=reference_of(_steps),
    macs=no_macs,
    constraints=(
        int8_activations(0),
        Constraint(
            "the output's scale is not so small that an element, brought to it, leaves 32 bits",
            lambda site: fits_32_bits(255, _factor(site)[1]),
            lambda site: f"output scale {quant_of(site.outputs[0]).scale:g}",
            "calibrate the output's range on real data",
        ),
        Constraint(
            "RELU6 has the same scale and zero point at input and output",
            lambda site: (
                site.attrs.activation is not Activation.RELU6 or site.input(0).quant == site.outputs[0].quant
            ),
            lambda site: f"{site.input(0).quant} and {site.outputs[0].quant}",
            "convert the model again: TensorFlow Lite Micro would not bring the output to its scale",
        ),
    ),
)
