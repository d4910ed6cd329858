"""ArgMin: index of the smallest element along one axis."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import Operator, Site, no_macs, operand
from tinydeploy.ops.reduction import found_index, index_constraints, reduced_shape


@dataclass(frozen=True, slots=True)
class ArgMin(Attrs):
    """``axes`` holds the one axis, from 0 on; of equals the first counts, or the last."""

    axes: tuple[int, ...]
    keep_dims: bool = False
    select_last: bool = False
    index: DType = DType.INT32


def _reference(site: Site[ArgMin], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    data, output = operand(arrays, 0), site.outputs[0]
    index = found_index(site, data, data.min(axis=site.attrs.axes[0], keepdims=True))
    return (index.astype(output.dtype.numpy).reshape(output.shape),)


OP = Operator(
    attrs=ArgMin,
    roles=("data",),
    doc="index of the smallest element along one axis",
    infer=lambda site: (TensorType(site.attrs.index, reduced_shape(site)),),
    reference=_reference,
    macs=no_macs,
    constraints=index_constraints(),
)
