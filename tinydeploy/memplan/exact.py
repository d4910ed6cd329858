"""Branch and bound: the lowest packing, or the proof that there is none lower.

Of all lowest packings, take one with the smallest sum of offsets. In it every item rests on the floor or on a
conflicting item, so placing items in the order of their offsets, each directly on top of those it conflicts
with, reaches it. The search follows such orders only (as MiniMalloc does: Moffitt, ASPLOS 2023). It leaves a
branch when

- a section's open items, stacked in the order in which they can start, do not end below the best height: the
  one-machine bound of job shop scheduling;
- an open item would fit entirely below the next offset: with the smallest sum of offsets it would be there;
- an earlier branch left the same items open at the same heights, above placed items that are no higher.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tinydeploy.memplan.problem import Problem


@dataclass(frozen=True, slots=True)
class _Node:
    """A partial packing.

    ``lows[i]`` is the offset of item ``i`` if it is placed, else the lowest it can have: the top of all
    placed items that conflict with it. ``last`` is the (offset, item) placed last; the next one is larger.
    ``height`` is the highest end of a placed item.
    """

    open: tuple[int, ...]
    lows: tuple[int, ...]
    last: tuple[int, int]
    height: int


def search(problem: Problem, start: Sequence[int], visits: int) -> tuple[list[int], bool]:
    """The lowest packing found, ``start`` if none is lower, and whether it is known that none is lower.

    Stops after about ``visits`` visits of an item or of one of its sections. Deterministic.
    """
    best, height = list(start), problem.height(start)
    lives = problem.lives
    items = tuple(range(len(problem.sizes)))
    root = _Node(items, (0,) * len(items), (0, -1), 0)
    explored: dict[tuple[tuple[int, ...], tuple[int, ...], tuple[int, int]], int] = {}
    pending: list[tuple[_Node, int | None]] = [(root, None)]
    while pending and height > problem.bound:
        parent, item = pending.pop()
        node = parent if item is None else _place(problem, parent, item)
        if node.height >= height:
            continue
        if not node.open:
            best, height = list(node.lows), node.height
            continue
        visits -= sum(lives[i] + 1 for i in node.open)
        if visits < 0:
            return best, False
        candidates = _candidates(problem, node)
        if not candidates or not _fits(problem, node, node.lows[candidates[0]], height - 1):
            continue
        lowest = min((node.lows[i], i) for i in candidates)
        state = (node.open, tuple(node.lows[i] for i in node.open), lowest)
        if node.height < explored.get(state, height):
            explored[state] = node.height
            pending += [(node, i) for i in reversed(candidates)]
    return best, True


def _place(problem: Problem, node: _Node, item: int) -> _Node:
    """The node with an open item placed as low as it can be."""
    lows = list(node.lows)
    offset = lows[item]
    end = offset + problem.sizes[item]
    now_open = tuple(i for i in node.open if i != item)
    still_open = set(now_open)
    for i in problem.conflicts[item]:
        if lows[i] < end and i in still_open:
            lows[i] = end
    return _Node(now_open, tuple(lows), (offset, item), max(node.height, end))


def _candidates(problem: Problem, node: _Node) -> list[int]:
    """Open items that can come next, only one of equal items: in order of offset, then the longest life."""
    sizes, spans, lows = problem.sizes, problem.spans, node.lows
    still_open = set(node.open)
    ceiling = min(lows[i] + sizes[i] for i in node.open)
    candidates = [
        i
        for i in node.open
        if lows[i] < ceiling
        and (lows[i], i) > node.last
        and not (i - 1 in still_open and sizes[i - 1] == sizes[i] and spans[i - 1] == spans[i])
    ]
    return sorted(candidates, key=lambda i: (lows[i], spans[i][0] - spans[i][1], i))


def _fits(problem: Problem, node: _Node, floor: int, limit: int) -> bool:
    """Whether no section alone forces its open items, none of them below ``floor``, above ``limit``."""
    tops = [0] * len(problem.loads)
    for low, item in sorted((max(node.lows[i], floor), i) for i in node.open):
        size = problem.sizes[item]
        for section in range(*problem.spans[item]):
            top = tops[section]
            tops[section] = top = (top if top > low else low) + size
            if top > limit:
                return False
    return True
