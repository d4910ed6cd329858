"""Limits that the operators share that only move elements: any element type, quantization as it is."""

from __future__ import annotations

import math

from tinydeploy.ir import DType
from tinydeploy.ops.base import AnyConstraint, AnySite, Constraint
from tinydeploy.ops.quantized import describe

MAX_ELEMENTS = 1 << 24
"""Elements of a result; far above any real model, it keeps references affordable."""


def movable(*, same_quant: bool = True) -> tuple[AnyConstraint, ...]:
    """Limits of moving operators: whole bytes, one type, and a result of a size that can be real."""

    def whole(site: AnySite) -> bool:
        source, output = site.input(0), site.outputs[0]
        return source.dtype is output.dtype and source.dtype is not DType.INT4

    def quantized_alike(site: AnySite) -> bool:
        source, output = site.input(0).quant, site.outputs[0].quant
        return source == output or (
            source is not None and output is not None and not source.per_tensor and not output.per_tensor
        )

    tied = Constraint(
        "input and output have the same scale and zero point",
        quantized_alike,
        lambda site: f"{site.input(0).quant} and {site.outputs[0].quant}",
        "convert the model again: the converter ties the two scales",
    )
    return (
        Constraint(
            "input and output have one element type of whole bytes",
            whole,
            lambda site: f"{describe(site.input(0))}, {describe(site.outputs[0])}",
            "convert the model with full int8 quantization",
            gate=True,
        ),
        *((tied,) if same_quant else ()),
    )


def size_constraint() -> AnyConstraint:
    """For operators whose attributes alone can ask for any size."""
    return Constraint(
        f"the result has at most {MAX_ELEMENTS:,} elements",
        lambda site: math.prod(site.outputs[0].shape) <= MAX_ELEMENTS,
        lambda site: f"{list(site.outputs[0].shape)}",
        "make the tensor smaller",
        gate=True,
    )
