"""Logical: and, or, exclusive or of two bools."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from tinydeploy.ir import Array, Attrs
from tinydeploy.ops.base import Operator, Site, no_macs
from tinydeploy.ops.binary import broadcast_constraint
from tinydeploy.ops.compare import truth_infer
from tinydeploy.ops.plain import TRUTHS, not_quantized, plain_reference, plain_types


class LogicalFunction(Enum):
    """The functions of two bools."""

    AND = "and"
    OR = "or"
    XOR = "xor"


@dataclass(frozen=True, slots=True)
class Logical(Attrs):
    """Element by element; the shapes broadcast."""

    function: LogicalFunction


_MEANINGS = {
    LogicalFunction.AND: np.logical_and,
    LogicalFunction.OR: np.logical_or,
    LogicalFunction.XOR: np.logical_xor,
}


def _compute(site: Site[Logical], data: tuple[Array, ...]) -> Array:
    return np.asarray(_MEANINGS[site.attrs.function](data[0], data[1]))


OP = Operator(
    attrs=Logical,
    roles=("a", "b"),
    doc="and, or, xor of two bools, shapes broadcast",
    infer=truth_infer,
    reference=plain_reference(_compute),
    macs=no_macs,
    constraints=(not_quantized(), *plain_types(TRUTHS, 0, 1), broadcast_constraint(2)),
)
