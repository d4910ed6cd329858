"""Tanh: the hyperbolic tangent in TFLite's fixed point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import Int64, rounding_shift_right, tanh
from tinydeploy.ir import Array, Attrs, Quant
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, only
from tinydeploy.ops.plain import FLOATS, by_kind, plain_reference, plain_types, widened
from tinydeploy.ops.quantized import activations, is_quantized
from tinydeploy.ops.sigmoids import (
    WIDE_RESULT,
    brought_of,
    by_width,
    is_wide,
    saturating,
    scale_constraint,
)
from tinydeploy.ops.unary import reference_of, same_infer
from tinydeploy.ops.wide_tables import wide_tanh


@dataclass(frozen=True, slots=True)
class Tanh(Attrs):
    """Element by element; the result has steps of 1/128."""


def _steps(site: Site[Tanh], centred: Int64) -> Int64:
    return saturating(site, centred, lambda x: rounding_shift_right(tanh(x), 31 - 7))


def _wide(site: Site[Tanh], centred: Int64) -> Int64:
    return wide_tanh(centred, brought_of(site, (0, 1)))


def _plain(_site: Site[Tanh], data: tuple[Array, ...]) -> Array:
    return np.tanh(widened(data[0]))


OP = Operator(
    attrs=Tanh,
    roles=("data",),
    doc="hyperbolic tangent",
    infer=same_infer,
    reference=by_kind(by_width(reference_of(_steps), reference_of(_wide)), plain_reference(_plain)),
    macs=no_macs,
    constraints=(
        *only(
            is_quantized,
            activations(0),
            scale_constraint(),
            Constraint(
                "the output has scale 1/128 and zero point 0, as int16 1/32768",
                lambda site: (
                    site.outputs[0].quant == (WIDE_RESULT if is_wide(site) else Quant((1 / 128,), (0,)))
                ),
                lambda site: str(site.outputs[0].quant),
                "convert the model again: the converter fixes this scale",
            ),
        ),
        *plain_types(FLOATS, 0),
    ),
)
