"""Cast: plain elements as another plain type."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs
from tinydeploy.ops.integers import saturated
from tinydeploy.ops.plain import EVERY, names_of, not_quantized, plain_reference
from tinydeploy.ops.quantized import describe


@dataclass(frozen=True, slots=True)
class Cast(Attrs):
    """Floats are cut towards zero and to the range of integers, NaN to 0; integers wrap; bool is "not 0"."""

    to: DType


def _compute(site: Site[Cast], data: tuple[Array, ...]) -> Array:
    source, to = data[0], site.attrs.to
    if to is DType.BOOL:
        return np.asarray(source != 0)
    return saturated(source, to) if source.dtype.kind == "f" and to.is_integer else source


OP = Operator(
    attrs=Cast,
    roles=("data",),
    doc="the same numbers as another element type",
    infer=lambda site: (TensorType(site.attrs.to, site.input(0).shape),),
    reference=plain_reference(_compute),
    macs=no_macs,
    constraints=(
        not_quantized(),
        Constraint(
            f"the types are {names_of(EVERY)}",
            lambda site: site.input(0).dtype in EVERY and site.attrs.to in EVERY,
            lambda site: f"{describe(site.input(0))} to {site.attrs.to.value}",
            "use an element type of whole bytes",
        ),
    ),
)
