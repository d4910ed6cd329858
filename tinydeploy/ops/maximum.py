"""Maximum: the larger of two elements; all three tensors have one scale."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Attrs
from tinydeploy.ops.base import Operator, Site, no_macs, only
from tinydeploy.ops.binary import binary_constraints, broadcast_infer, reference_of
from tinydeploy.ops.formula import Chosen, Element, Formula
from tinydeploy.ops.plain import by_kind, plain_reference
from tinydeploy.ops.quantized import is_quantized, same_quantization


@dataclass(frozen=True, slots=True)
class Maximum(Attrs):
    """Element by element; the shapes broadcast."""


def formula(site: Site[Maximum]) -> Formula:
    low, high = site.outputs[0].dtype.limits
    return Formula((), Chosen(Element(0) - Element(1), Element(0), Element(1)), low, high)


OP = Operator(
    attrs=Maximum,
    roles=("a", "b"),
    doc="the larger of two elements, shapes broadcast",
    infer=broadcast_infer,
    reference=by_kind(
        reference_of(formula), plain_reference(lambda _site, data: np.maximum(data[0], data[1]))
    ),
    macs=no_macs,
    constraints=(*binary_constraints(), *only(is_quantized, same_quantization(0, 1))),
)
