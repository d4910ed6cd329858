"""Add: sum of two tensors of one shape, each with its own scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import multiply_by_quantized_multiplier, quantize_multiplier
from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs
from tinydeploy.ops.quantized import Activation, activation_limits, int8_activations, quant_of

LEFT_SHIFT = 20
"""Bits by which TFLite raises int8 inputs before they are brought to a common scale."""


@dataclass(frozen=True, slots=True)
class Add(Attrs):
    """Element by element."""

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


def _infer(site: Site[Add]) -> tuple[TensorType, ...]:
    return (TensorType(site.input(0).dtype, site.input(0).shape),)


def _reference(site: Site[Add], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    factors = factors_of(site)
    total = np.zeros(site.outputs[0].shape, np.int64)
    for index, factor in enumerate(factors.inputs):
        data = arrays[index]
        if data is None:
            raise ValueError("Add needs two inputs")
        centred = data.astype(np.int64) - quant_of(site.input(index)).zero_point
        total = total + multiply_by_quantized_multiplier(centred << LEFT_SHIFT, *factor)
    output = site.outputs[0]
    steps = multiply_by_quantized_multiplier(total, *factors.output) + quant_of(output).zero_point
    low, high = activation_limits(site.attrs.activation, output)
    return (np.clip(steps, low, high).astype(output.dtype.numpy),)


OP = Operator(
    attrs=Add,
    roles=("a", "b"),
    doc="sum of two tensors, element by element",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        int8_activations(0, 1),
        Constraint(
            "both inputs have the same shape",
            lambda site: site.input(0).shape == site.input(1).shape,
            lambda site: f"{list(site.input(0).shape)} and {list(site.input(1).shape)}",
            "broadcast in the model before conversion",
        ),
        Constraint(
            "the output's scale is not so small that a sum of inputs overflows 32 bits",
            lambda site: factors_of(site).output[1] <= 0,
            lambda site: f"output scale {quant_of(site.outputs[0]).scale:g}",
            "calibrate the output's range on real data",
        ),
    ),
)
