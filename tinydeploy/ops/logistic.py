"""Logistic: the sigmoid ``1 / (1 + exp(-x))`` in TFLite's fixed point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import Int64, logistic, rounding_shift_right
from tinydeploy.ir import Array, Attrs, Quant
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, only
from tinydeploy.ops.plain import FLOATS, by_kind, plain_reference, plain_types, widened
from tinydeploy.ops.quantized import activations, is_quantized
from tinydeploy.ops.sigmoids import WIDE_RESULT, brought_of, by_width, is_wide, saturating, scale_constraint
from tinydeploy.ops.unary import reference_of, same_infer
from tinydeploy.ops.wide_tables import wide_sigmoid


@dataclass(frozen=True, slots=True)
class Logistic(Attrs):
    """Element by element; the result has steps of 1/256."""


def _steps(site: Site[Logistic], centred: Int64) -> Int64:
    return saturating(site, centred, lambda x: rounding_shift_right(logistic(x), 31 - 8) - 128)


def _wide(site: Site[Logistic], centred: Int64) -> Int64:
    return wide_sigmoid(centred, brought_of(site, (0,)))


def _plain(_site: Site[Logistic], data: tuple[Array, ...]) -> Array:
    x = widened(data[0])
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small, 1.0) / (1.0 + small)


OP = Operator(
    attrs=Logistic,
    roles=("data",),
    doc="sigmoid",
    infer=same_infer,
    reference=by_kind(by_width(reference_of(_steps), reference_of(_wide)), plain_reference(_plain)),
    macs=no_macs,
    constraints=(
        *only(
            is_quantized,
            activations(0),
            scale_constraint(),
            Constraint(
                "the output has scale 1/256 and zero point -128, as int16 1/32768 and 0",
                lambda site: (
                    site.outputs[0].quant == (WIDE_RESULT if is_wide(site) else Quant((1 / 256,), (-128,)))
                ),
                lambda site: str(site.outputs[0].quant),
                "convert the model again: the converter fixes this scale",
            ),
        ),
        *plain_types(FLOATS, 0),
    ),
)
