"""Where every element of a moving operator's output comes from, as loop nests with compile-time strides."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from tinydeploy.fixed_point import Int64
from tinydeploy.ir import Attrs
from tinydeploy.kernels.nest import Loop, broadcast_strides, merged, strides_of
from tinydeploy.ops import AnySite
from tinydeploy.ops.batch_to_space import BatchToSpace
from tinydeploy.ops.concatenation import Concatenation, shape_in
from tinydeploy.ops.depth_to_space import DepthToSpace
from tinydeploy.ops.depth_to_space import split_axes as depth_to_space_axes
from tinydeploy.ops.expand import Expand
from tinydeploy.ops.gather import Gather
from tinydeploy.ops.pad import Border, Pad, places_along
from tinydeploy.ops.resize import Method, Resize, nearest
from tinydeploy.ops.slice import Slice
from tinydeploy.ops.space_to_batch import SpaceToBatch
from tinydeploy.ops.space_to_depth import SpaceToDepth
from tinydeploy.ops.space_to_depth import split_axes as space_to_depth_axes
from tinydeploy.ops.take import Take
from tinydeploy.ops.tile import Tile
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
    """All of an output. ``fill`` is what stands where no region writes; None where none is left."""

    regions: tuple[Region, ...]
    fill: int | float | None = None


def moves_of(site: AnySite) -> Moves:
    """The moves of any operator of ``NESTS``."""
    return NESTS[type(site.attrs)](site)


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
        shape = shape_in(site, index)
        regions.append(Region(index, start * to[axis], 0, _walk(shape, to, strides_of(shape))))
        start += shape[axis]
    return Moves(tuple(regions))


def _pad(site: AnySite) -> Moves:
    attrs, shape = site.attrs, site.input(0).shape
    pairs = list(zip(shape, attrs.padding, strict=True))
    if attrs.border is not Border.CONSTANT:
        return Moves((_taken(site, [places_along(extent, pair, attrs.border) for extent, pair in pairs]),))
    to, source = strides_of(site.outputs[0].shape), strides_of(shape)
    kept = [extent + min(before, 0) + min(after, 0) for extent, (before, after) in pairs]
    start = sum(max(before, 0) * stride for (_, (before, _)), stride in zip(pairs, to, strict=True))
    first = sum(max(-before, 0) * stride for (_, (before, _)), stride in zip(pairs, source, strict=True))
    region = Region(0, start, first, _walk(kept, to, source))
    return Moves((region,), attrs.value if any(max(pair) > 0 for _, pair in pairs) else None)


def _expand(site: AnySite) -> Moves:
    shape = site.outputs[0].shape
    source = broadcast_strides(site.input(0).shape, len(shape))
    return Moves((Region(0, 0, 0, _walk(shape, strides_of(shape), source)),))


def _tile(site: AnySite) -> Moves:
    shape, to = site.input(0).shape, strides_of(site.outputs[0].shape)
    loops: list[Loop] = []
    axes = zip(shape, site.attrs.repeats, to, strides_of(shape), strict=True)
    for extent, count, out_stride, in_stride in axes:
        loops += [Loop(count, (extent * out_stride, 0)), Loop(extent, (out_stride, in_stride))]
    return Moves((Region(0, 0, 0, merged(loops)),))


def _take(site: AnySite) -> Moves:
    pairs = zip(site.attrs.places, site.input(0).shape, strict=True)
    places = [
        np.arange(extent, dtype=np.int64) if chosen is None else np.array(chosen, np.int64)
        for chosen, extent in pairs
    ]
    return Moves((_taken(site, places),))


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


def _blocks(site: AnySite) -> Moves:
    """SpaceToDepth and DepthToSpace: axes split off, then in another order."""
    split = space_to_depth_axes if isinstance(site.attrs, SpaceToDepth) else depth_to_space_axes
    shape, order = split(site)
    extents, strides = [shape[axis] for axis in order], strides_of(shape)
    source = [strides[axis] for axis in order]
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


NESTS: dict[type[Attrs], Callable[[AnySite], Moves]] = {
    BatchToSpace: _batch_to_space,
    Concatenation: _concatenation,
    DepthToSpace: _blocks,
    Expand: _expand,
    Gather: _gather,
    Pad: _pad,
    Resize: _nearest,
    Slice: _slice,
    SpaceToBatch: _space_to_batch,
    SpaceToDepth: _blocks,
    Take: _take,
    Tile: _tile,
    Transpose: _transpose,
}


def can_move(site: AnySite) -> bool:
    """Whether an operator of ``NESTS``, as its attributes are, only moves elements, to known places."""
    match site.attrs:
        case Resize(method=method):
            return method is Method.NEAREST
        case Gather(indices=indices):
            return indices is not None
    return True
