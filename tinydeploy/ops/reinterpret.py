"""Reinterpret: the same elements with another scale, or with one where the format says nothing of scales."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.quantized import describe


@dataclass(frozen=True, slots=True)
class Reinterpret(Attrs):
    """Plain integers become steps or the other way round; nothing is computed."""


def _reference(_site: Site[Reinterpret], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    return (operand(arrays, 0),)


OP = Operator(
    attrs=Reinterpret,
    roles=("data",),
    doc="integers read as steps of a scale, or steps as integers",
    infer=lambda site: (TensorType(site.input(0).dtype, site.input(0).shape),),
    reference=_reference,
    macs=no_macs,
    constraints=(
        Constraint(
            "the elements are integers",
            lambda site: site.input(0).dtype.is_integer,
            lambda site: describe(site.input(0)),
            "quantize real numbers first",
        ),
    ),
    view=True,
)
