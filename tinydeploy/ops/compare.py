"""Compare: the relation of two plain elements as bool."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import AnySite, Operator, Site, no_macs
from tinydeploy.ops.binary import broadcast_constraint
from tinydeploy.ops.plain import EVERY, not_quantized, plain_reference, plain_types


class Relation(Enum):
    """What is asked about a and b."""

    EQUAL = "=="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="


@dataclass(frozen=True, slots=True)
class Compare(Attrs):
    """Element by element; the shapes broadcast."""

    relation: Relation


_MEANINGS = {
    Relation.EQUAL: np.equal,
    Relation.NOT_EQUAL: np.not_equal,
    Relation.LESS: np.less,
    Relation.LESS_EQUAL: np.less_equal,
    Relation.GREATER: np.greater,
    Relation.GREATER_EQUAL: np.greater_equal,
}


def truth_infer(site: AnySite) -> tuple[TensorType, ...]:
    """bool of the shape to which the two inputs broadcast."""
    return (TensorType(DType.BOOL, np.broadcast_shapes(site.input(0).shape, site.input(1).shape)),)


def _compute(site: Site[Compare], data: tuple[Array, ...]) -> Array:
    return np.asarray(_MEANINGS[site.attrs.relation](data[0], data[1]))


OP = Operator(
    attrs=Compare,
    roles=("a", "b"),
    doc="the relation of two elements as bool, shapes broadcast",
    infer=truth_infer,
    reference=plain_reference(_compute),
    macs=no_macs,
    constraints=(
        not_quantized(),
        *plain_types(EVERY, 0, 1, same_output=False),
        broadcast_constraint(2),
    ),
)
