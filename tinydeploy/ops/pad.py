"""Pad: a border of one value, or of the mirrored data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.movement import movable, size_constraint


class Border(Enum):
    """What stands outside: a value; the data mirrored without, or with, its outermost element."""

    CONSTANT = "constant"
    REFLECT = "reflect"
    SYMMETRIC = "symmetric"


@dataclass(frozen=True, slots=True)
class Pad(Attrs):
    """``padding[i]`` is (before, after) along axis i; ``value`` is the step that a constant border holds."""

    padding: tuple[tuple[int, int], ...]
    border: Border = Border.CONSTANT
    value: int = 0


def _infer(site: Site[Pad]) -> tuple[TensorType, ...]:
    pairs = zip(site.attrs.padding, site.input(0).shape, strict=True)
    return (TensorType(site.input(0).dtype, tuple(a + extent + b for (a, b), extent in pairs)),)


def _reference(site: Site[Pad], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    data, attrs = operand(arrays, 0), site.attrs
    if not data.ndim:
        return (data,)
    match attrs.border:
        case Border.CONSTANT:
            return (np.pad(data, attrs.padding, constant_values=attrs.value),)
        case Border.REFLECT:
            return (np.pad(data, attrs.padding, mode="reflect"),)
        case Border.SYMMETRIC:
            return (np.pad(data, attrs.padding, mode="symmetric"),)


def _pairs_fit(site: Site[Pad]) -> bool:
    shape = site.input(0).shape
    spare = {Border.CONSTANT: None, Border.REFLECT: 1, Border.SYMMETRIC: 0}[site.attrs.border]
    return len(site.attrs.padding) == len(shape) and all(
        min(pair) >= 0 and (spare is None or max(pair) <= extent - spare)
        for pair, extent in zip(site.attrs.padding, shape, strict=True)
    )


OP = Operator(
    attrs=Pad,
    roles=("data",),
    doc="a border of one value, or of the mirrored data",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        *movable(),
        size_constraint(),
        Constraint(
            "there is a pair of paddings from 0 on for each axis, and as much data as a mirror shows",
            _pairs_fit,
            lambda site: f"{list(site.attrs.padding)} for {list(site.input(0).shape)}",
            "repair the model",
        ),
    ),
)
