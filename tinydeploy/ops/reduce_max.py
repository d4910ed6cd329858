"""ReduceMax: the largest element over axes."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.ir import Array, Attrs
from tinydeploy.ops.base import Operator, Site, no_macs, only, operand
from tinydeploy.ops.plain import EVERY
from tinydeploy.ops.quantized import is_quantized, same_quantization
from tinydeploy.ops.reduction import reduction_constraints, reduction_infer


@dataclass(frozen=True, slots=True)
class ReduceMax(Attrs):
    """``axes`` are ascending, from 0 on; ``keep_dims`` leaves them with extent 1."""

    axes: tuple[int, ...]
    keep_dims: bool = False


def _reference(site: Site[ReduceMax], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    result: Array = operand(arrays, 0).max(axis=site.attrs.axes)
    return (result.reshape(site.outputs[0].shape),)


OP = Operator(
    attrs=ReduceMax,
    roles=("data",),
    doc="the largest element over any axes",
    infer=reduction_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(*reduction_constraints(EVERY), *only(is_quantized, same_quantization(0))),
)
