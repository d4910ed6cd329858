"""LogSoftmax over the last axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, is_plain, no_macs, only, operand
from tinydeploy.ops.float_windows import float_types
from tinydeploy.ops.integer_softmax import log_softmax_once
from tinydeploy.ops.quantized import activations, is_quantized


@dataclass(frozen=True, slots=True)
class LogSoftmax(Attrs):
    """``x - log(sum(exp(x)))`` over the last axis."""


def _reference(site: Site[LogSoftmax], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    if is_quantized(site):
        return (log_softmax_once(site, operand(arrays, 0)),)
    data = operand(arrays, 0).astype(np.float64)
    lowered = data - data.max(axis=-1, keepdims=True)
    result = lowered - np.log(np.exp(lowered).sum(axis=-1, keepdims=True))
    return (result.astype(np.float32),)


OP = Operator(
    attrs=LogSoftmax,
    roles=("data",),
    doc="logarithm of softmax over the last axis",
    infer=lambda site: (TensorType(site.input(0).dtype, site.input(0).shape),),
    reference=_reference,
    macs=no_macs,
    constraints=(
        *only(is_plain, float_types()),
        *only(is_quantized, activations(0)),
        Constraint(
            "the input has at least one dimension",
            lambda site: len(site.input(0).shape) > 0,
            lambda site: "a single number",
            "remove the operator: its result is a constant",
            gate=True,
        ),
    ),
)
