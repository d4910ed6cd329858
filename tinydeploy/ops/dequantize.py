"""Dequantize: steps to real numbers, at the edge of a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.quantize import STEPS
from tinydeploy.ops.quantized import along, describe, quant_of


@dataclass(frozen=True, slots=True)
class Dequantize(Attrs):
    """``scale * (step - zero_point)``, one float32 product."""


def _reference(site: Site[Dequantize], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    source = site.input(0)
    scale, zero_point = along(quant_of(source), source.shape)
    centred = operand(arrays, 0).astype(np.int64) - zero_point
    with np.errstate(over="ignore"):
        return (centred.astype(np.float32) * scale.astype(np.float32),)


OP = Operator(
    attrs=Dequantize,
    roles=("data",),
    doc="steps of 8, 16 or 32 bits to float32, with one scale or one per index of an axis",
    infer=lambda site: (TensorType(DType.FLOAT32, site.input(0).shape),),
    reference=_reference,
    macs=no_macs,
    constraints=(
        Constraint(
            "the input is int8, uint8, int16, uint16 or int32 with a scale, or a constant of int4",
            lambda site: (
                site.input(0).quant is not None
                and (
                    site.input(0).dtype in (*STEPS, DType.INT32)
                    or (site.input(0).dtype is DType.INT4 and site.constant(0) is not None)
                )
                and site.outputs[0].dtype is DType.FLOAT32
            ),
            lambda site: f"{describe(site.input(0))}, {describe(site.outputs[0])}",
            "convert the model with full int8 quantization",
        ),
    ),
)
