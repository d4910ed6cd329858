"""Dequantize: int8 steps to real numbers, at the edge of a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.quantized import describe, is_int8, quant_of


@dataclass(frozen=True, slots=True)
class Dequantize(Attrs):
    """``scale * (step - zero_point)``, one float32 product."""


def _reference(site: Site[Dequantize], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    quant = quant_of(site.input(0))
    centred = operand(arrays, 0).astype(np.int32) - quant.zero_point
    return (centred.astype(np.float32) * np.float32(quant.scale),)


OP = Operator(
    attrs=Dequantize,
    roles=("data",),
    doc="int8 to float32",
    infer=lambda site: (TensorType(DType.FLOAT32, site.input(0).shape),),
    reference=_reference,
    macs=no_macs,
    constraints=(
        Constraint(
            "the input is int8 with one scale and zero point, the output float32",
            lambda site: is_int8(site.input(0)) and site.outputs[0].dtype is DType.FLOAT32,
            lambda site: f"{describe(site.input(0))}, {describe(site.outputs[0])}",
            "convert the model with full int8 quantization",
        ),
    ),
)
