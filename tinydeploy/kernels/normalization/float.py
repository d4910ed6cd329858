"""Normalization of float32 in plain C: a nest over what is independent around one over what is normalized."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tinydeploy.kernels.base import Banded, Instance, Kernel, Knobs, Params, Schedule
from tinydeploy.kernels.float_operands import whole_operand
from tinydeploy.kernels.nest import (
    Loop,
    broadcast_strides,
    merged,
    shape_text,
    strides_of,
    whole_access,
    whole_result,
)
from tinydeploy.ops import AnySite
from tinydeploy.ops.base import is_float
from tinydeploy.ops.normalization import Normalization
from tinydeploy.ops.reduction import elements_of

INSTRUCTIONS_PER_ELEMENT = 20
INSTRUCTIONS_PER_GROUP = 60


@dataclass(frozen=True, slots=True)
class NormalizationParams(Params):
    """The loops' operands are the data, then scale and bias; ``elements`` are normalized together."""

    norm: str
    centres: bool
    epsilon: float
    outer: tuple[Loop, ...]
    inner: tuple[Loop, ...]
    elements: int
    scale: bool
    bias: bool


def _make(site: AnySite, _knobs: Knobs) -> Kernel:
    attrs: Normalization = site.attrs
    shape = site.input(0).shape
    factors = [index for index in (1, 2) if site.has(index)]
    strides = [strides_of(shape)]
    strides += [
        broadcast_strides(site.input(index).shape, len(shape)) if site.has(index) else (0,) * len(shape)
        for index in (1, 2)
    ]
    walks = list(zip(*strides, strict=True))

    def loops(axes: Iterable[int]) -> tuple[Loop, ...]:
        return merged(Loop(shape[axis], walks[axis]) for axis in axes)

    params = NormalizationParams(
        norm=attrs.norm.value,
        centres=attrs.norm.centres,
        epsilon=attrs.epsilon,
        outer=loops(axis for axis in range(len(shape)) if axis not in attrs.axes),
        inner=loops(attrs.axes),
        elements=elements_of(site),
        scale=site.has(1),
        bias=site.has(2),
    )
    elements = site.input(0).elements
    groups = elements // params.elements
    return Kernel(
        instance=Instance(SCHEDULE.name, params),
        title=f"Normalization by {attrs.norm.value}, {groups} times {params.elements} of {shape_text(shape)}",
        band=1,
        flat=True,
        operands=(0, *factors),
        accesses=(whole_access(site, 0), *(whole_operand(site, index) for index in factors)),
        result=whole_result(site),
        constants=(),
        scalars=(),
        scratch_bytes=0,
        cost_instructions=elements * INSTRUCTIONS_PER_ELEMENT + groups * INSTRUCTIONS_PER_GROUP,
    )


SCHEDULE = Schedule(
    name="normalization/float",
    op=Normalization,
    doc="float32 in plain C; two or three passes over the elements",
    applies=lambda site, _target: is_float(site),
    knobs=lambda _site, _target: (Banded(1),),
    make=_make,
    headers=("td_rows.h", "td_math.h"),
)
