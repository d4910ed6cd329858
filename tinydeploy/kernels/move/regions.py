"""Where every element of a moving operator's output comes from, as loop nests with compile-time strides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from tinydeploy.fixed_point import Int64
from tinydeploy.ir import Attrs
from tinydeploy.kernels.nest import Loop, merged, strides_of
from tinydeploy.ops import AnySite
from tinydeploy.ops.batch_to_space import BatchToSpace
from tinydeploy.ops.concatenation import Concatenation
from tinydeploy.ops.depth_to_space import DepthToSpace
from tinydeploy.ops.gather import Gather
from tinydeploy.ops.pad import Border, Pad
from tinydeploy.ops.resize import Method, Resize, nearest
from tinydeploy.ops.slice import Slice
from tinydeploy.ops.space_to_batch import SpaceToBatch
from tinydeploy.ops.space_to_depth import SpaceToDepth
from tinydeploy.ops.transpose import Transpose


@dataclass(frozen=True, slots=True)
class Region:
    """A part of the output: the nest's operands are (output, input ``operand``), offsets in elements.

    ``tables`` holds the input offsets of the loops that name one.
    """

    operand: int
    to: int
    source: int
    loops: tuple[Loop, ...]
    tables: tuple[tuple[str, tuple[int, ...]], ...] = ()


@dataclass(frozen=True, slots=True)
class Moves:
    """All of an output. ``fill`` is the step that stands where no region writes; None where none is left."""

    regions: tuple[Region, ...]
    fill: int | None = None


def moves_of(site: AnySite) -> Moves:
    """The moves of any operator of ``MOVES``."""
    return MOVES[type(site.attrs)](site)


def _walk(extents: Sequence[int], to: Sequence[int], source: Sequence[int]) -> tuple[Loop, ...]:
    triples = zip(extents, to, source, strict=True)
    return merged(Loop(extent, (out_stride, in_stride)) for extent, out_stride, in_stride in triples)


def _slice(site: AnySite) -> Moves:
    attrs: Slice = site.attrs
    strides = strides_of(site.input(0).shape)
    begin = sum(a * b for a, b in zip(attrs.begin, strides, strict=True))
    steps = [a * b for a, b in zip(attrs.stride, strides, strict=True)]
    return Moves((Region(0, 0, begin, _walk(attrs.size, strides_of(attrs.size), steps)),))


def _transpose(site: AnySite) -> Moves:
    shape, strides = site.outputs[0].shape, strides_of(site.input(0).shape)
    source = [strides[axis] for axis in site.attrs.order]
    return Moves((Region(0, 0, 0, _walk(shape, strides_of(shape), source)),))


def _concatenation(site: AnySite) -> Moves:
    axis, to = site.attrs.axis, strides_of(site.outputs[0].shape)
    regions: list[Region] = []
    start = 0
    for index in range(len(site.inputs)):
        shape = site.input(index).shape
        regions.append(Region(index, start * to[axis], 0, _walk(shape, to, strides_of(shape))))
        start += shape[axis]
    return Moves(tuple(regions))


def _pad(site: AnySite) -> Moves:
    attrs, shape = site.attrs, site.input(0).shape
    if attrs.border is not Border.CONSTANT:
        skipped = 1 if attrs.border is Border.REFLECT else 0
        places = [
            _mirrored(extent, before, after, skipped)
            for extent, (before, after) in zip(shape, attrs.padding, strict=True)
        ]
        return Moves((_taken(site, places),))
    to = strides_of(site.outputs[0].shape)
    start = sum(before * stride for (before, _), stride in zip(attrs.padding, to, strict=True))
    region = Region(0, start, 0, _walk(shape, to, strides_of(shape)))
    return Moves((region,), attrs.value if any(map(any, attrs.padding)) else None)


def _mirrored(extent: int, before: int, after: int, skipped: int) -> Int64:
    """The place that each element of a mirrored axis shows; ``skipped`` leaves out the outermost."""
    inside = np.arange(extent, dtype=np.int64)
    front = inside[skipped : skipped + before][::-1]
    back = inside[::-1][skipped : skipped + after]
    return np.concatenate([front, inside, back])


def _gather(site: AnySite) -> Moves:
    attrs: Gather = site.attrs
    places = [np.arange(extent, dtype=np.int64) for extent in site.input(0).shape]
    places[attrs.axis] = np.array(attrs.indices, np.int64)
    return Moves((_taken(site, places),))


def _nearest(site: AnySite) -> Moves:
    batch, height, width, channels = site.input(0).shape
    rows = nearest(site.attrs, height, site.attrs.size[0])
    columns = nearest(site.attrs, width, site.attrs.size[1])
    return Moves((_taken(site, [np.arange(batch), rows, columns, np.arange(channels)]),))


def _taken(site: AnySite, places: Sequence[Int64]) -> Region:
    """Along each axis of input 0 the given places: a stride where they are even, a table where not."""
    extents = [len(place) for place in places]
    start = 0
    loops: list[Loop] = []
    tables: list[tuple[str, tuple[int, ...]]] = []
    axes = zip(places, strides_of(extents), strides_of(site.input(0).shape), strict=True)
    for place, to, stride in axes:
        steps = np.diff(place)
        if len(place) < 2 or (steps == steps[0]).all():
            start += int(place[0]) * stride
            loops.append(Loop(len(place), (to, int(steps[0]) * stride if len(place) > 1 else 0)))
        else:
            name = f"places{len(tables)}"
            tables.append((name, tuple(int(index) * stride for index in place)))
            loops.append(Loop(len(place), (to, 0), name))
    return Region(0, 0, start, merged(loops), tuple(tables))


def _space_to_depth(site: AnySite) -> Moves:
    batch, height, width, channels = site.input(0).shape
    block = site.attrs.block
    extents = (batch, height // block, width // block, block, block, channels)
    inner = strides_of((batch, height // block, block, width // block, block, channels))
    source = [inner[axis] for axis in (0, 1, 3, 2, 4, 5)]
    return Moves((Region(0, 0, 0, _walk(extents, strides_of(extents), source)),))


def _depth_to_space(site: AnySite) -> Moves:
    batch, height, width, _ = site.input(0).shape
    block, channels = site.attrs.block, site.outputs[0].shape[3]
    extents = (batch, height, block, width, block, channels)
    inner = strides_of((batch, height, width, block, block, channels))
    source = [inner[axis] for axis in (0, 1, 3, 2, 4, 5)]
    return Moves((Region(0, 0, 0, _walk(extents, strides_of(extents), source)),))


def _space_to_batch(site: AnySite) -> Moves:
    attrs: SpaceToBatch = site.attrs
    before = [pair[0] for pair in attrs.padding]
    regions = tuple(_dealt(site.input(0).shape, site.outputs[0].shape, attrs.block, before, deals=True))
    return Moves(regions, attrs.value if any(map(any, attrs.padding)) else None)


def _batch_to_space(site: AnySite) -> Moves:
    attrs: BatchToSpace = site.attrs
    before = [pair[0] for pair in attrs.crops]
    return Moves(tuple(_dealt(site.outputs[0].shape, site.input(0).shape, attrs.block, before, deals=False)))


def _dealt(
    image: Sequence[int], batch: Sequence[int], block: Sequence[int], before: Sequence[int], *, deals: bool
) -> Iterator[Region]:
    """One region per place in a block, between an image and the batch that its blocks are dealt out to.

    Pixel ``i`` of the image lies at ``before + i`` of the blocks. ``deals``: from the image to the batch.
    """
    count = len(block)
    image_strides, batch_strides = strides_of(image), strides_of(batch)
    for number, place in enumerate(product(*map(range, block))):
        starts = [-(-(a - p) // b) for a, p, b in zip(before, place, block, strict=True)]
        firsts = [s * b + p - a for s, b, p, a in zip(starts, block, place, before, strict=True)]
        lengths = [
            -(-(extent - first) // b) for extent, first, b in zip(image[1:], firsts, block, strict=False)
        ]
        if min(lengths) < 1:
            continue
        extents = (image[0], *lengths, *image[1 + count :])
        in_image = [
            image_strides[0],
            *(stride * b for stride, b in zip(image_strides[1:], block, strict=False)),
            *image_strides[1 + count :],
        ]
        image_start = sum(a * b for a, b in zip(firsts, image_strides[1:], strict=False))
        batch_start = number * image[0] * batch_strides[0]
        batch_start += sum(a * b for a, b in zip(starts, batch_strides[1:], strict=False))
        if deals:
            yield Region(0, batch_start, image_start, _walk(extents, batch_strides, in_image))
        else:
            yield Region(0, image_start, batch_start, _walk(extents, in_image, batch_strides))


MOVES: dict[type[Attrs], Callable[[AnySite], Moves]] = {
    BatchToSpace: _batch_to_space,
    Concatenation: _concatenation,
    DepthToSpace: _depth_to_space,
    Gather: _gather,
    Pad: _pad,
    Resize: _nearest,
    Slice: _slice,
    SpaceToBatch: _space_to_batch,
    SpaceToDepth: _space_to_depth,
    Transpose: _transpose,
}


def can_move(site: AnySite) -> bool:
    """Whether an operator of ``MOVES`` only moves elements as its attributes are."""
    return not isinstance(site.attrs, Resize) or site.attrs.method is Method.NEAREST
