"""Logistic: the sigmoid ``1 / (1 + exp(-x))`` in TFLite's fixed point."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.fixed_point import Int64, logistic, rounding_shift_right
from tinydeploy.ir import Attrs, Quant
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs
from tinydeploy.ops.quantized import int8_activations
from tinydeploy.ops.sigmoids import saturating, scale_constraint
from tinydeploy.ops.unary import reference_of, same_infer


@dataclass(frozen=True, slots=True)
class Logistic(Attrs):
    """Element by element; the result has steps of 1/256."""


def _steps(site: Site[Logistic], centred: Int64) -> Int64:
    return saturating(site, centred, lambda x: rounding_shift_right(logistic(x), 31 - 8) - 128)


OP = Operator(
    attrs=Logistic,
    roles=("data",),
    doc="sigmoid",
    infer=same_infer,
    reference=reference_of(_steps),
    macs=no_macs,
    constraints=(
        int8_activations(0),
        scale_constraint(),
        Constraint(
            "the output has scale 1/256 and zero point -128",
            lambda site: site.outputs[0].quant == Quant((1 / 256,), (-128,)),
            lambda site: str(site.outputs[0].quant),
            "convert the model again: the converter fixes this scale",
        ),
    ),
)
