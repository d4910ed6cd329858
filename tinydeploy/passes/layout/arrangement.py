"""How the elements of one value lie in another: axes split, reordered and joined, extents of 1 left out.

Value v is *arranged* in base b when ``v = b.reshape(dims).transpose(order).reshape(v.shape)``. ``dims`` holds
no extent of 1 and is fine enough that every axis of v is a run of the reordered dims. Transposes and reshapes
compose without touching data, and what only moves extents of 1 disappears.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tinydeploy.ir import Array

Shape = tuple[int, ...]


def without_ones(shape: Sequence[int]) -> Shape:
    return tuple(extent for extent in shape if extent != 1)


@dataclass(frozen=True, slots=True)
class Arrangement:
    """``dims`` in the base's order of elements; reordered dim i is ``dims[order[i]]``."""

    dims: Shape
    order: Shape

    @property
    def is_plain(self) -> bool:
        """Whether the elements lie in the base's own order."""
        return self.order == tuple(range(len(self.order)))

    @property
    def reordered(self) -> Shape:
        return tuple(self.dims[index] for index in self.order)

    def reshaped(self, shape: Shape) -> Arrangement | None:
        """The arrangement of the value under another shape; None where that cuts across reordered dims."""
        dims, order = list(self.dims), list(self.order)
        position = 0
        for wanted in without_ones(shape):
            while wanted > 1:
                if position == len(order):
                    return None
                index = order[position]
                extent = dims[index]
                if extent > wanted:
                    if extent % wanted:
                        return None
                    dims[index : index + 1] = [wanted, extent // wanted]
                    order = [other + (other > index) for other in order]
                    order.insert(position + 1, index + 1)
                    extent = wanted
                if wanted % extent:
                    return None
                wanted //= extent
                position += 1
        return Arrangement(tuple(dims), tuple(order)) if position == len(order) else None

    def runs(self, shape: Shape) -> tuple[Shape, ...] | None:
        """For each axis of the value the dims that make it up, in order; None where an axis cuts a dim."""
        runs: list[Shape] = []
        position = 0
        for extent in shape:
            start, product = position, 1
            while product < extent and position < len(self.order):
                product *= self.dims[self.order[position]]
                position += 1
            if product != extent:
                return None
            runs.append(self.order[start:position])
        return tuple(runs) if position == len(self.order) else None

    def transposed(self, shape: Shape, order: Shape) -> Arrangement | None:
        """The arrangement of the value, of this shape, after a transpose."""
        runs = self.runs(shape)
        if runs is None:
            return None
        return Arrangement(self.dims, tuple(index for axis in order for index in runs[axis]))

    def simplified(self) -> Arrangement:
        """With every run of dims joined that stays together: the smallest transpose that does the same."""
        joined: list[list[int]] = []
        for index in self.order:
            if joined and joined[-1][-1] + 1 == index:
                joined[-1].append(index)
            else:
                joined.append([index])
        ranked = sorted(range(len(joined)), key=lambda position: joined[position][0])
        dims = tuple(math.prod(self.dims[index] for index in joined[position]) for position in ranked)
        return Arrangement(dims, tuple(ranked.index(position) for position in range(len(joined))))

    def of(self, base: Array, shape: Shape) -> Array:
        """The value's data, from the base's."""
        array: Array = base.reshape(self.dims).transpose(self.order).reshape(shape)
        return array


def plain(shape: Shape) -> Arrangement:
    """The arrangement of a value in itself."""
    dims = without_ones(shape)
    return Arrangement(dims, tuple(range(len(dims))))


@dataclass(frozen=True, slots=True)
class Aligned:
    """A base of as many axes as the value: ``v = b.reshape(shape).transpose(order)``."""

    shape: Shape
    order: Shape

    def moved(self, per_axis: Sequence[int]) -> tuple[int, ...]:
        """What holds of the value's axes, said of the base's."""
        return tuple(per_axis[self.order.index(axis)] for axis in range(len(self.order)))


def aligned(arrangement: Arrangement, shape: Shape) -> Aligned | None:
    """The base with one axis for each of the value's; extents of 1 go to the front. None where an axis of the
    value is spread over the base."""
    runs = arrangement.runs(shape)
    if runs is None:
        return None
    if any(list(run) != list(range(run[0], run[0] + len(run))) for run in runs if run):
        return None
    ones = [axis for axis, run in enumerate(runs) if not run]
    rest = sorted((axis for axis, run in enumerate(runs) if run), key=lambda axis: runs[axis][0])
    axes = ones + rest
    return Aligned(tuple(shape[axis] for axis in axes), tuple(axes.index(axis) for axis in range(len(shape))))


def axis_in_base(arrangement: Arrangement, shape: Shape, base: Shape, axis: int) -> int | None:
    """Which axis of the base an axis of the value is, or None where it is none."""
    runs, starts = arrangement.runs(shape), Arrangement(arrangement.dims, plain_order(arrangement)).runs(base)
    if runs is None or starts is None or not runs[axis]:
        return None
    return next((index for index, run in enumerate(starts) if run == runs[axis]), None)


def plain_order(arrangement: Arrangement) -> Shape:
    return tuple(range(len(arrangement.dims)))
