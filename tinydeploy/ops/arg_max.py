"""ArgMax: index of the largest element along one axis, the first of equals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import Operator, Site, no_macs, operand
from tinydeploy.ops.reduction import index_constraints, reduced_shape


@dataclass(frozen=True, slots=True)
class ArgMax(Attrs):
    """``axes`` holds the one axis, from 0 on."""

    axes: tuple[int, ...]
    keep_dims: bool = False


def _reference(site: Site[ArgMax], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    index = np.argmax(operand(arrays, 0), axis=site.attrs.axes[0])
    return (np.asarray(index, np.int32).reshape(site.outputs[0].shape),)


OP = Operator(
    attrs=ArgMax,
    roles=("data",),
    doc="index of the largest element along one axis",
    infer=lambda site: (TensorType(DType.INT32, reduced_shape(site)),),
    reference=_reference,
    macs=no_macs,
    constraints=index_constraints(),
)
