"""Sub: difference of two tensors, each with its own scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import quantize_multiplier
from tinydeploy.ir import Attrs
from tinydeploy.ops.add import LEFT_SHIFT, Factors, common_scale_formula
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs
from tinydeploy.ops.binary import binary_constraints, broadcast_infer, reference_of
from tinydeploy.ops.formula import Formula
from tinydeploy.ops.quantized import Activation, quant_of


@dataclass(frozen=True, slots=True)
class Sub(Attrs):
    """``a - b``, element by element; the shapes broadcast."""

    activation: Activation = Activation.NONE


def factors_of(site: Site[Sub]) -> Factors:
    """As Add's, but TFLite Micro divides these scales in float32."""
    a, b = (np.float32(quant_of(site.input(index)).scale) for index in range(2))
    output = np.float32(quant_of(site.outputs[0]).scale)
    common = np.float32(2.0) * max(a, b)
    with np.errstate(over="ignore", divide="ignore"):
        real = float(common / (np.float32(1 << LEFT_SHIFT) * output))
    return Factors(
        inputs=(quantize_multiplier(float(a / common)), quantize_multiplier(float(b / common))),
        output=quantize_multiplier(min(real, 2.0**30)),
    )


def formula(site: Site[Sub]) -> Formula:
    return common_scale_formula(site, factors_of(site), subtract=True)


OP = Operator(
    attrs=Sub,
    roles=("a", "b"),
    doc="difference of two tensors, element by element, shapes broadcast",
    infer=broadcast_infer,
    reference=reference_of(formula),
    macs=no_macs,
    constraints=(
        *binary_constraints(),
        Constraint(
            "the output's scale is not so small that a difference of inputs overflows 32 bits",
            lambda site: factors_of(site).output[1] <= 0,
            lambda site: f"output scale {quant_of(site.outputs[0]).scale:g}",
            "calibrate the output's range on real data",
        ),
    ),
)
