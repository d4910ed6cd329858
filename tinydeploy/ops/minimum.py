"""Minimum: the smaller of two elements; all three tensors have one scale."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.ir import Attrs
from tinydeploy.ops.base import Operator, Site, no_macs
from tinydeploy.ops.binary import binary_constraints, broadcast_infer, reference_of
from tinydeploy.ops.formula import Chosen, Element, Formula
from tinydeploy.ops.quantized import same_quantization


@dataclass(frozen=True, slots=True)
class Minimum(Attrs):
    """Element by element; the shapes broadcast."""


def formula(site: Site[Minimum]) -> Formula:
    low, high = site.outputs[0].dtype.limits
    return Formula((), Chosen(Element(0) - Element(1), Element(1), Element(0)), low, high)


OP = Operator(
    attrs=Minimum,
    roles=("a", "b"),
    doc="the smaller of two elements, shapes broadcast",
    infer=broadcast_infer,
    reference=reference_of(formula),
    macs=no_macs,
    constraints=(*binary_constraints(), same_quantization(0, 1)),
)
