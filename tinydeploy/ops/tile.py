"""Tile: the whole input several times along each axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.movable import movable, size_constraint


@dataclass(frozen=True, slots=True)
class Tile(Attrs):
    """``repeats[i]`` copies along axis i."""

    repeats: tuple[int, ...]


def _infer(site: Site[Tile]) -> tuple[TensorType, ...]:
    pairs = zip(site.input(0).shape, site.attrs.repeats, strict=True)
    return (TensorType(site.input(0).dtype, tuple(extent * count for extent, count in pairs)),)


def _reference(site: Site[Tile], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    return (np.tile(operand(arrays, 0), site.attrs.repeats),)


OP = Operator(
    attrs=Tile,
    roles=("data",),
    doc="the whole input several times along each axis",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        *movable(),
        size_constraint(),
        Constraint(
            "there is a number of copies, at least 1, for each axis",
            lambda site: (
                len(site.attrs.repeats) == len(site.input(0).shape)
                and min(site.attrs.repeats, default=1) >= 1
            ),
            lambda site: f"{list(site.attrs.repeats)} for {list(site.input(0).shape)}",
            "repair the model",
        ),
    ),
)
