"""Where: elements of one of two tensors, as a third one says."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import AnySite, Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.binary import broadcast_constraint
from tinydeploy.ops.plain import EVERY
from tinydeploy.ops.quantized import describe, same_quantization


@dataclass(frozen=True, slots=True)
class Where(Attrs):
    """``condition ? a : b``, element by element; the three shapes broadcast."""


def _infer(site: AnySite) -> tuple[TensorType, ...]:
    shape = np.broadcast_shapes(*(site.input(index).shape for index in range(3)))
    return (TensorType(site.input(1).dtype, shape),)


def _reference(site: Site[Where], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    condition, a, b = (operand(arrays, index) for index in range(3))
    return (np.broadcast_to(np.where(condition, a, b), site.outputs[0].shape).astype(a.dtype),)


def _types_fit(site: AnySite) -> bool:
    a, b = site.input(1), site.input(2)
    return site.input(0).dtype is DType.BOOL and a.dtype is b.dtype and a.dtype in EVERY


OP = Operator(
    attrs=Where,
    roles=("condition", "a", "b"),
    doc="elements of a where the condition holds, else of b, shapes broadcast",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        Constraint(
            "the condition is bool, and a and b have one element type",
            _types_fit,
            lambda site: ", ".join(map(describe, site.inputs)),
            "add Cast nodes",
            gate=True,
        ),
        same_quantization(1, 2),
        broadcast_constraint(3),
    ),
)
