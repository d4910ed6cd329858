"""Cheap packings, one item after the other, by rules of which one or the other usually packs well."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from tinydeploy.memplan.problem import Problem

UNPLACED = -1


def packings(problem: Problem) -> Iterator[list[int]]:
    """Offsets by each rule in turn; a caller stops at the first that is low enough."""
    sizes, lives = problem.sizes, problem.lives
    items = range(len(sizes))
    fullest = [max(problem.loads[start:stop]) for start, stop in problem.spans]

    for order in (
        list(items),
        sorted(items, key=lambda i: -sizes[i] * lives[i]),
        sorted(items, key=lambda i: (-lives[i], -sizes[i])),
        sorted(items, key=lambda i: (-fullest[i], -sizes[i])),
        sorted(items, key=lambda i: problem.spans[i][0]),
    ):
        yield pack(problem, order)
        yield pack(problem, order, tightest=True)

    yield stack(problem, lambda i, low: (low, -lives[i]))
    yield stack(problem, lambda i, low: (low, -sizes[i] * lives[i]))
    yield stack(problem, lambda i, low: (-lives[i], low))
    yield stack(problem, lambda i, low: (-sizes[i] * lives[i], low))


def pack(problem: Problem, order: Sequence[int], *, tightest: bool = False) -> list[int]:
    """Offsets that result from placing the items in ``order``, each in the lowest gap that holds it.

    With ``tightest`` it is the smallest gap that holds it. A gap lies below a conflicting item and above
    another or the floor; the space above them all is the last resort.
    """
    offsets = [UNPLACED] * len(order)
    sizes = problem.sizes
    for item in order:
        size = sizes[item]
        placed = [i for i in problem.conflicts[item] if offsets[i] != UNPLACED]
        chosen, chosen_gap, top = UNPLACED, 0, 0
        for start, end in sorted((offsets[i], offsets[i] + sizes[i]) for i in placed):
            gap = start - top
            if gap >= size and (chosen == UNPLACED or gap < chosen_gap):
                chosen, chosen_gap = top, gap
                if not tightest:
                    break
            top = max(top, end)
        offsets[item] = top if chosen == UNPLACED else chosen
    return offsets


def stack(problem: Problem, rank: Callable[[int, int], tuple[int, int]]) -> list[int]:
    """Offsets that result from building upwards, each item directly on top of the ones it conflicts with.

    Next is the item of the lowest ``rank(item, offset)`` among those that would not leave a hole into which
    another open item fits.
    """
    sizes = problem.sizes
    lows = [0] * len(sizes)
    still_open = set(range(len(sizes)))
    while still_open:
        ceiling = min(lows[i] + sizes[i] for i in still_open)
        item = min((i for i in still_open if lows[i] < ceiling), key=lambda i: (rank(i, lows[i]), i))
        still_open.remove(item)
        end = lows[item] + sizes[item]
        for i in problem.conflicts[item]:
            if i in still_open and lows[i] < end:
                lows[i] = end
    return lows
