"""Sub: difference of two tensors, each with its own scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import Rounding, quantize_multiplier
from tinydeploy.ir import Array, Attrs
from tinydeploy.ops.add import Factors, common_scale_formula, left_shift
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, only
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
from tinydeploy.ops.formula import Formula
from tinydeploy.ops.plain import activated, by_kind, plain_reference, widened
from tinydeploy.ops.quantized import Activation, quant_of


@dataclass(frozen=True, slots=True)
class Sub(Attrs):
    """``a - b``, element by element; the shapes broadcast."""

    activation: Activation = Activation.NONE
    rounding: Rounding = Rounding.TFLITE


def factors_of(site: Site[Sub]) -> Factors:
    """As Add's, but TFLite Micro divides these scales in float32."""
    a, b = (np.float32(quant_of(site.input(index)).scale) for index in range(2))
    output = np.float32(quant_of(site.outputs[0]).scale)
    common = np.float32(2.0) * max(a, b)
    with np.errstate(over="ignore", divide="ignore"):
        real = float(common / (np.float32(1 << left_shift(site)) * output))
    return Factors(
        inputs=(quantize_multiplier(float(a / common)), quantize_multiplier(float(b / common))),
        output=quantize_multiplier(min(real, 2.0**30)),
    )


def formula(site: Site[Sub]) -> Formula:
    return common_scale_formula(site, factors_of(site), subtract=True)


def blend_of(site: Site[Sub]) -> Blend:
    return blend(site, [(1.0, (0,)), (-1.0, (1,))])


def _plain(site: Site[Sub], data: tuple[Array, ...]) -> Array:
    return activated(site.attrs.activation, widened(data[0]) - widened(data[1]))


OP = Operator(
    attrs=Sub,
    roles=("a", "b"),
    doc="difference of two tensors, element by element, shapes broadcast",
    infer=broadcast_infer,
    reference=by_kind(by_rounding(reference_of(formula), blend_reference(blend_of)), plain_reference(_plain)),
    macs=no_macs,
    constraints=(
        *only(is_once, blend_constraint(0, 1)),
        *binary_constraints(),
        *only(
            is_twice,
            Constraint(
                "the output's scale is not so small that a difference of inputs overflows 32 bits",
                lambda site: factors_of(site).output[1] <= 0,
                lambda site: f"output scale {quant_of(site.outputs[0]).scale:g}",
                "calibrate the output's range on real data",
            ),
        ),
    ),
)
