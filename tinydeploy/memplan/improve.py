"""Hill climbing over packing orders: what cheap orders miss in problems too large to search exactly.

The idea is that of Vela's allocator: only the items that the height rests on are worth moving.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tinydeploy.memplan.greedy import pack
from tinydeploy.memplan.problem import Problem

SEED = 1
ROUNDS_PER_ITEM = 32


def climb(problem: Problem, start: Sequence[int], visits: int) -> list[int]:
    """A packing no higher than ``start``, after at most about ``visits`` visits of an item.

    In each round an item of the columns that carry the height changes places with an earlier one in the order
    of packing; the change stays unless the packing grows. Deterministic.
    """
    random = Random(SEED)
    current = sorted(range(len(start)), key=lambda i: (start[i], i))
    offsets = pack(problem, current)
    height = problem.height(offsets)
    round_visits = len(current) + sum(map(len, problem.conflicts))
    for _ in range(min(ROUNDS_PER_ITEM * len(current), visits // max(round_visits, 1))):
        if height == problem.bound:
            break
        columns = _columns(problem, offsets, height)
        position = current.index(columns[int(random.random() * len(columns))])
        earlier = int(random.random() * position)
        current[earlier], current[position] = current[position], current[earlier]
        candidate = pack(problem, current)
        candidate_height = problem.height(candidate)
        if candidate_height <= height:
            offsets, height = candidate, candidate_height
        else:
            current[earlier], current[position] = current[position], current[earlier]
    return offsets


def _columns(problem: Problem, offsets: Sequence[int], height: int) -> list[int]:
    """Items that end at ``height`` and, downwards, all that they rest on."""
    sizes = problem.sizes
    columns = [i for i, size in enumerate(sizes) if offsets[i] + size == height]
    seen = set(columns)
    for item in columns:
        for i in problem.conflicts[item]:
            if i not in seen and offsets[i] + sizes[i] == offsets[item]:
                seen.add(i)
                columns.append(i)
    return columns
