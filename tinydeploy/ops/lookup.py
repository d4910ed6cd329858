"""Lookup: any function of one element of 8 bits, as the table of its 256 results."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.quantized import describe

ENTRIES = 256
BYTES = (DType.INT8, DType.UINT8)
RESULTS = (DType.INT8, DType.UINT8, DType.INT16, DType.INT32)


@dataclass(frozen=True, slots=True)
class Lookup(Attrs):
    """Element by element. The table begins with the result of the lowest step, -128 or 0."""


def _reference(site: Site[Lookup], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    low, _ = site.input(0).dtype.limits
    return (operand(arrays, 1)[operand(arrays, 0).astype(np.int64) - low],)


OP = Operator(
    attrs=Lookup,
    roles=("data", "table"),
    doc="any function of one element, from a table of its results",
    infer=lambda site: (TensorType(site.input(1).dtype, site.input(0).shape),),
    reference=_reference,
    macs=no_macs,
    constraints=(
        Constraint(
            "the data is int8 or uint8; the table a constant of 256 elements of int8, uint8, int16 or int32",
            lambda site: (
                site.input(0).dtype in BYTES
                and site.input(1).dtype in RESULTS
                and site.input(1).shape == (ENTRIES,)
                and site.constant(1) is not None
            ),
            lambda site: f"{describe(site.input(0))}, {describe(site.input(1))}",
            "repair the model",
            gate=True,
        ),
    ),
)
