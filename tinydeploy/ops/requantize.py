"""Requantize: the same numbers on another int8 scale (TFLite's QUANTIZE of a quantized tensor)."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.fixed_point import Int64, multiply_by_quantized_multiplier, quantize_multiplier
from tinydeploy.ir import Attrs, Quant
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs
from tinydeploy.ops.binary import fits_32_bits
from tinydeploy.ops.quantized import int8_activations, quant_of
from tinydeploy.ops.unary import reference_of, same_infer


@dataclass(frozen=True, slots=True)
class Requantize(Attrs):
    """Element by element."""


def factor_between(source: Quant, target: Quant) -> tuple[int, int]:
    """(multiplier, shift) from steps of one scale to steps of another."""
    return quantize_multiplier(source.scale / target.scale)


def rescaled(centred: Int64, source: Quant, target: Quant) -> Int64:
    """Steps on ``target``, not yet cut to its type, of steps on ``source`` minus its zero point."""
    return multiply_by_quantized_multiplier(centred, *factor_between(source, target)) + target.zero_point


def _steps(site: Site[Requantize], centred: Int64) -> Int64:
    return rescaled(centred, quant_of(site.input(0)), quant_of(site.outputs[0]))


OP = Operator(
    attrs=Requantize,
    roles=("data",),
    doc="the same numbers on another int8 scale",
    infer=same_infer,
    reference=reference_of(_steps),
    macs=no_macs,
    constraints=(
        int8_activations(0),
        Constraint(
            "the output's scale is not so small that an element, brought to it, leaves 32 bits",
            lambda site: fits_32_bits(
                255, factor_between(quant_of(site.input(0)), quant_of(site.outputs[0]))[1]
            ),
            lambda site: f"output scale {quant_of(site.outputs[0]).scale:g}",
            "calibrate the output's range on real data",
        ),
    ),
)
