"""Loop nests with compile-time strides: what elementwise operators, reductions and moves are made of."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tinydeploy.kernels.base import Access, Result
from tinydeploy.ops import AnySite


@dataclass(frozen=True, slots=True)
class Loop:
    """``extent`` iterations; operand k advances by ``strides[k]`` elements in each.

    With ``table`` the last operand's place comes from the constant of that name instead of its stride.
    """

    extent: int
    strides: tuple[int, ...]
    table: str | None = None


def merged(loops: Iterable[Loop]) -> tuple[Loop, ...]:
    """The same nest without loops of one iteration, neighbours joined where every operand walks evenly."""
    result: list[Loop] = []
    for loop in loops:
        if loop.extent == 1 and loop.table is None:
            continue
        if result and _continues(result[-1], loop):
            result[-1] = Loop(result[-1].extent * loop.extent, loop.strides)
        else:
            result.append(loop)
    return tuple(result)


def _continues(outer: Loop, inner: Loop) -> bool:
    return (
        outer.table is None
        and inner.table is None
        and all(a == b * inner.extent for a, b in zip(outer.strides, inner.strides, strict=True))
    )


def strides_of(shape: Sequence[int]) -> tuple[int, ...]:
    """Elements from one index to the next along each axis, dense and row-major."""
    sizes = itertools.accumulate(reversed(shape), lambda total, extent: total * extent, initial=1)
    return tuple(reversed(list(sizes)[:-1]))


def broadcast_strides(shape: Sequence[int], rank: int) -> tuple[int, ...]:
    """Strides of an operand in a nest over ``rank`` axes; 0 where it repeats."""
    own = [0 if extent == 1 else stride for extent, stride in zip(shape, strides_of(shape), strict=True)]
    return (*(0,) * (rank - len(own)), *own)


def lines_of(site: AnySite) -> int:
    """Rows that an elementwise output is seen as: the lines of an image, else one."""
    shape = site.outputs[0].shape
    return shape[1] if len(shape) == 4 and shape[0] == 1 else 1


def whole_access(site: AnySite, index: int) -> Access:
    """An input read as one row."""
    return Access(1, site.input(index).bytes)


def whole_result(site: AnySite) -> Result:
    """The output written as one row."""
    return Result(1, site.outputs[0].bytes)


def shape_text(shape: Sequence[int]) -> str:
    """``25x5x64``; ``1`` for a single number."""
    return "x".join(map(str, shape)) or "1"
