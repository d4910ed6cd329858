"""Quantize: real numbers to steps, at the edge of a model."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import Rounding
from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.quantized import along, describe, quant_of

STEPS = (DType.INT8, DType.UINT8, DType.INT16, DType.UINT16)
"""Element types of steps that are computed from real numbers."""


@dataclass(frozen=True, slots=True)
class Quantize(Attrs):
    """Rounded to nearest, saturated; NaN becomes the lowest step.

    Ties go away from zero, or, rounded once as ONNX does, to even. ``dtype`` is that of the steps.
    """

    rounding: Rounding = Rounding.TFLITE
    dtype: DType = DType.INT8


def _reference(site: Site[Quantize], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    output = site.outputs[0]
    scale, zero_point = along(quant_of(output), output.shape)
    low, high = (limit - zero_point for limit in output.dtype.limits)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        steps = operand(arrays, 0).astype(np.float32) / scale.astype(np.float32)
    steps = np.clip(np.nan_to_num(steps, nan=-np.inf, posinf=np.inf, neginf=-np.inf), low, high)
    if site.attrs.rounding is Rounding.HALF_EVEN:
        rounded = np.rint(steps)
    else:
        whole = np.trunc(steps)
        rounded = whole + np.where(np.abs(steps - whole) >= 0.5, np.sign(steps), 0)
    return ((rounded + zero_point).astype(output.dtype.numpy),)


OP = Operator(
    attrs=Quantize,
    roles=("data",),
    doc="float32 to steps of 8 or 16 bits, with one scale or one per index of an axis",
    infer=lambda site: (TensorType(site.attrs.dtype, site.input(0).shape),),
    reference=_reference,
    macs=no_macs,
    constraints=(
        Constraint(
            "the input is float32, the output int8, uint8, int16 or uint16 with a scale",
            lambda site: (
                site.input(0).dtype is DType.FLOAT32
                and site.outputs[0].dtype in STEPS
                and site.outputs[0].quant is not None
            ),
            lambda site: f"{describe(site.input(0))}, {describe(site.outputs[0])}",
            "convert the model with full int8 quantization",
        ),
    ),
)
