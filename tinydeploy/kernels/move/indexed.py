"""What the kernels share that find elements by indices of run time: a nest, and a term per index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tinydeploy.ir import DType, TensorType
from tinydeploy.kernels.move.scalar import MIN_RUN, ctype_of
from tinydeploy.kernels.nest import Loop, merged, strides_of
from tinydeploy.ops import AnySite
from tinydeploy.ops.gather import Gather
from tinydeploy.ops.gather_elements import GatherElements
from tinydeploy.ops.gather_nd import GatherND
from tinydeploy.ops.scatter_elements import ScatterElements
from tinydeploy.ops.scatter_nd import ScatterND

INSTRUCTIONS_PER_INDEX = 12
INSTRUCTIONS_PER_ELEMENT = 8
INSTRUCTIONS_PER_RUN = 20


@dataclass(frozen=True, slots=True)
class Term:
    """The index ``position`` elements behind the nest's own is a place among ``extent``, ``stride`` apart."""

    position: int
    extent: int
    stride: int


@dataclass(frozen=True, slots=True)
class Walk:
    """A nest whose operands are (dense, indexed, indices): the dense tensor is read or written in order, the
    indexed one where the terms say. ``run`` neighbours are copied at once."""

    loops: tuple[Loop, ...]
    terms: tuple[Term, ...]
    index: str
    ctype: str
    element_bytes: int
    run: int


def walk_of(site: AnySite, dense: TensorType) -> Walk:
    """The walk of any operator that gathers or scatters; input 0 is indexed, input 1 holds the indices."""
    data, indices = site.input(0), site.input(1)
    match site.attrs:
        case Gather(axis=axis, batch_dims=count):
            loops, terms = _slices(data.shape, indices.shape, dense.shape, axis, count)
        case GatherND(batch_dims=count):
            loops, terms = _vectors(data.shape, indices.shape, dense.shape, count)
        case ScatterND():
            loops, terms = _vectors(data.shape, indices.shape, dense.shape, 0)
        case GatherElements(axis=axis) | ScatterElements(axis=axis):
            loops, terms = _elements(data.shape, indices.shape, axis)
        case _:
            raise TypeError(f"{type(site.attrs).__name__} has no indices")
    joined, run = merged(loops), 1
    if joined and joined[-1].strides == (1, 1, 0) and joined[-1].extent >= MIN_RUN:
        joined, run = joined[:-1], joined[-1].extent
    index = "int64" if indices.dtype is DType.INT64 else "int32"
    return Walk(joined, tuple(terms), index, ctype_of(data.dtype), data.dtype.bits // 8, run)


def cost_of(walk: Walk, dense: TensorType) -> int:
    """Instructions of the walk."""
    runs = dense.elements // walk.run
    each = INSTRUCTIONS_PER_RUN + walk.run if walk.run > 1 else INSTRUCTIONS_PER_ELEMENT
    return runs * (each + INSTRUCTIONS_PER_INDEX * len(walk.terms))


def _zip(
    extents: Sequence[int], dense: Sequence[int], data: Sequence[int], indices: Sequence[int]
) -> list[Loop]:
    rows = zip(extents, dense, data, indices, strict=True)
    return [Loop(extent, (a, b, c)) for extent, a, b, c in rows]


def _slices(
    data: Sequence[int], indices: Sequence[int], dense: Sequence[int], axis: int, count: int
) -> tuple[list[Loop], list[Term]]:
    """Gather: batch axes, the data's axes before the axis, the indices' own, the data's after it."""
    own, steps = strides_of(data), strides_of(indices)
    chosen = len(indices) - count
    data_strides = (*own[:axis], *(0,) * chosen, *own[axis + 1 :])
    index_strides = (*steps[:count], *(0,) * (axis - count), *steps[count:], *(0,) * (len(data) - axis - 1))
    loops = _zip(dense, strides_of(dense), data_strides, index_strides)
    return loops, [Term(0, data[axis], own[axis])]


def _vectors(
    data: Sequence[int], indices: Sequence[int], dense: Sequence[int], count: int
) -> tuple[list[Loop], list[Term]]:
    """The ND operators: batch axes, the indices' own without the last, the data's that no vector names."""
    own, steps, depth = strides_of(data), strides_of(indices), indices[-1]
    middle, rest = len(indices) - 1 - count, len(data) - count - depth
    data_strides = (*own[:count], *(0,) * middle, *own[count + depth :])
    loops = _zip(dense, strides_of(dense), data_strides, (*steps[:-1], *(0,) * rest))
    return loops, [Term(k, data[count + k], own[count + k]) for k in range(depth)]


def _elements(data: Sequence[int], indices: Sequence[int], axis: int) -> tuple[list[Loop], list[Term]]:
    """The operators of elements: an index for each."""
    own, steps = strides_of(data), strides_of(indices)
    elsewhere = [0 if index == axis else stride for index, stride in enumerate(own)]
    return _zip(indices, steps, elsewhere, steps), [Term(0, data[axis], own[axis])]
