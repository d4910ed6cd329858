"""A pool's requests in the form the allocator works on: alignment units, and sections instead of steps.

A *section* is a step whose set of live buffers is not contained in that of another step. Two buffers are live
at once exactly if they share a section, so sections carry all there is to know about lives, and there are at
most as many as buffers, however many steps a program has.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from operator import add

from tinydeploy.memplan.model import Buffer


@dataclass(frozen=True, slots=True)
class Problem:
    """Items 0, 1, ... to be packed: the tallest first, equal ones side by side, so that order has a meaning.

    ``sizes`` and all offsets are in alignment units; item ``i`` lives in the sections ``range(*spans[i])``;
    ``conflicts[i]`` are the items that share a section with it; ``loads`` are the units live in each section.

    Not built yet, and its place is here: input/output overlap, where a kernel's access map allows it. Today
    the upper of two conflicting items starts at least the lower one's size above it. ``Overlap(reader_key,
    writer_key, min_gap)`` would relax that for one ordered pair: a reader above its writer starts at least
    ``min_gap`` bytes above it, because the writer reaches a byte only after the reader has left it. Packing,
    the search's bound and its dominance rule, the step peaks and the verifier have to learn of it together.
    """

    sizes: tuple[int, ...]
    spans: tuple[tuple[int, int], ...]
    conflicts: tuple[tuple[int, ...], ...]
    loads: tuple[int, ...]

    @property
    def lives(self) -> tuple[int, ...]:
        """Sections that each item lives in, as a count."""
        return tuple(stop - start for start, stop in self.spans)

    @property
    def bound(self) -> int:
        """Units live in the fullest section: no packing is lower."""
        return max(self.loads, default=0)

    def height(self, offsets: Sequence[int]) -> int:
        """Units from 0 to the highest end."""
        return max(map(add, offsets, self.sizes), default=0)


def state(buffers: Sequence[Buffer], align: int) -> tuple[Problem, tuple[Buffer, ...]]:
    """The problem of one pool's buffers, and the buffer that each item stands for.

    The order of ``buffers`` does not matter.
    """
    items = sorted(buffers, key=lambda b: (-_units(b, align), b.first, b.last, b.key))
    sections = _sections(items)
    sizes = tuple(_units(item, align) for item in items)
    spans = tuple((bisect_left(sections, item.first), bisect_right(sections, item.last)) for item in items)
    conflicts = tuple(
        tuple(
            j
            for j, (start, stop) in enumerate(spans)
            if j != i and start < spans[i][1] and spans[i][0] < stop
        )
        for i in range(len(items))
    )
    loads = [0] * len(sections)
    for size, span in zip(sizes, spans, strict=True):
        for section in range(*span):
            loads[section] += size
    return Problem(sizes, spans, conflicts, tuple(loads)), tuple(items)


def _units(buffer: Buffer, align: int) -> int:
    return -(-buffer.size // align)


def _sections(buffers: Sequence[Buffer]) -> list[int]:
    """Ascending steps, one per section: a start at which a buffer lives that ends before the next start."""
    starts = sorted({buffer.first for buffer in buffers})
    ends = sorted({buffer.last for buffer in buffers})
    sections = []
    for index, start in enumerate(starts):
        following = starts[index + 1] if index + 1 < len(starts) else ends[-1] + 1
        if bisect_left(ends, start) < bisect_left(ends, following):
            sections.append(start)
    return sections
