"""Take: along each axis the elements at given places, in any order, as often as named."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.movable import movable, size_constraint


@dataclass(frozen=True, slots=True)
class Take(Attrs):
    """``places[i]`` are the places along axis i; None takes the axis as it is.

    What a resize by the nearest element is, on any number of axes.
    """

    places: tuple[tuple[int, ...] | None, ...]


def _infer(site: Site[Take]) -> tuple[TensorType, ...]:
    pairs = zip(site.input(0).shape, site.attrs.places, strict=True)
    shape = tuple(extent if places is None else len(places) for extent, places in pairs)
    return (TensorType(site.input(0).dtype, shape),)


def _reference(site: Site[Take], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    result = operand(arrays, 0)
    for axis, places in enumerate(site.attrs.places):
        if places is not None:
            result = result.take(places, axis=axis)
    return (np.ascontiguousarray(result),)


def _inside(site: Site[Take]) -> bool:
    shape, places = site.input(0).shape, site.attrs.places
    return len(places) == len(shape) and all(
        chosen is None or all(0 <= place < extent for place in chosen)
        for chosen, extent in zip(places, shape, strict=True)
    )


def _text(site: Site[Take]) -> str:
    spans = ["all" if p is None else f"{min(p)} to {max(p)}" for p in site.attrs.places]
    return f"{', '.join(spans)} of {list(site.input(0).shape)}"


OP = Operator(
    attrs=Take,
    roles=("data",),
    doc="along each axis the elements at given places",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        *movable(),
        size_constraint(),
        Constraint(
            "there are places for each axis, and every one lies on it", _inside, _text, "repair the model"
        ),
    ),
)
