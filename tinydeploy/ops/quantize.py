"""Quantize: real numbers to int8 steps, at the edge of a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.quantized import describe, is_int8, quant_of


@dataclass(frozen=True, slots=True)
class Quantize(Attrs):
    """Rounded to nearest, ties away from zero, saturated; NaN becomes the lowest step."""


def _reference(site: Site[Quantize], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    output = site.outputs[0]
    quant = quant_of(output)
    low, high = (limit - quant.zero_point for limit in output.dtype.limits)
    with np.errstate(over="ignore", invalid="ignore"):
        steps = operand(arrays, 0).astype(np.float32) / np.float32(quant.scale)
    steps = np.clip(np.nan_to_num(steps, nan=low, posinf=high, neginf=low), low, high)
    whole = np.trunc(steps)
    rounded = whole + np.where(np.abs(steps - whole) >= 0.5, np.sign(steps), 0)
    return ((rounded + quant.zero_point).astype(output.dtype.numpy),)


OP = Operator(
    attrs=Quantize,
    roles=("data",),
    doc="float32 to int8",
    infer=lambda site: (TensorType(DType.INT8, site.input(0).shape),),
    reference=_reference,
    macs=no_macs,
    constraints=(
        Constraint(
            "the input is float32, the output int8 with one scale and zero point",
            lambda site: site.input(0).dtype is DType.FLOAT32 and is_int8(site.outputs[0]),
            lambda site: f"{describe(site.input(0))}, {describe(site.outputs[0])}",
            "convert the model with full int8 quantization",
        ),
    ),
)
