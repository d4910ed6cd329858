"""BitCast: the same bytes read as another element type."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.quantized import describe


@dataclass(frozen=True, slots=True)
class BitCast(Attrs):
    """``to`` has as many bits as the input's type."""

    to: DType


def _infer(site: Site[BitCast]) -> tuple[TensorType, ...]:
    return (TensorType(site.attrs.to, site.input(0).shape),)


def _reference(site: Site[BitCast], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    return (operand(arrays, 0).view(site.attrs.to.numpy),)


OP = Operator(
    attrs=BitCast,
    roles=("data",),
    doc="the same bytes as another element type",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        Constraint(
            "both types have the same width, whole bytes, neither is quantized, and bytes do not become bool",
            lambda site: (
                site.input(0).dtype.bits == site.attrs.to.bits >= 8
                and (site.attrs.to is not DType.BOOL or site.input(0).dtype is DType.BOOL)
                and site.input(0).quant is None
                and site.outputs[0].quant is None
            ),
            lambda site: f"{describe(site.input(0))} as {site.attrs.to.value}",
            "cast to a type of the same width",
        ),
    ),
)
