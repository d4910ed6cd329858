"""What the tests of the allocator share: short notation, random problems, and an optimum by brute force."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import permutations
from random import Random

from hypothesis import strategies as st

from tinydeploy.memplan import Buffer, Kind

Triple = tuple[int, int, int]


def tensors(triples: Iterable[Triple], *, pool: int = 0) -> list[Buffer]:
    """Tensors from (size in bytes, first step, last step), with their positions as keys."""
    return [Buffer(key, *triple, Kind.TENSOR, pool) for key, triple in enumerate(triples)]


def words(triples: Iterable[Triple]) -> list[Buffer]:
    """Tensors from (size in words of 4 bytes, first step, last step)."""
    return tensors((4 * size, first, last) for size, first, last in triples)


def random_words(seed: int, count: int, steps: int, longest_life: int) -> list[Buffer]:
    """Random tensors of up to 255 words."""
    random = Random(seed)
    triples = []
    for _ in range(count):
        first = random.randrange(steps)
        last = min(steps - 1, first + random.randrange(longest_life))
        triples.append((random.randrange(1, 256), first, last))
    return words(triples)


def smallest_arena(buffers: Sequence[Buffer]) -> int:
    """The optimum for seven or so buffers of whole words: all orders, each on top of those before it."""
    best = sum(buffer.size for buffer in buffers)
    for order in permutations(buffers):
        ends: list[int] = []
        for index, buffer in enumerate(order):
            below = (
                end
                for end, other in zip(ends, order[:index], strict=True)
                if other.first <= buffer.last and buffer.first <= other.last
            )
            ends.append(max(below, default=0) + buffer.size)
        best = min(best, max(ends, default=0))
    return best


@st.composite
def problems(draw: st.DrawFn, *, most: int = 24, pools: int = 1) -> tuple[list[Buffer], int]:
    """Up to ``most`` buffers of any kind and size, and the number of steps they live in."""
    steps = draw(st.integers(1, 12))
    keys = draw(st.lists(st.integers(-5, 10_000), max_size=most, unique=True))
    buffers = []
    for key in keys:
        first = draw(st.integers(0, steps - 1))
        last = draw(st.integers(first, steps - 1))
        size = draw(st.integers(1, 40))
        kind, pool = draw(st.sampled_from(Kind)), draw(st.integers(0, pools - 1))
        buffers.append(Buffer(key, size, first, last, kind, pool))
    return buffers, steps


@st.composite
def tight_problems(draw: st.DrawFn) -> tuple[list[Buffer], int]:
    """At most seven buffers that fill most steps to the brim: the bound is hard to meet, or out of reach."""
    steps = draw(st.integers(3, 5))
    brim = draw(st.integers(3, 6))
    loads = [0] * steps
    triples: list[Triple] = []
    for _ in range(7):
        first = draw(st.integers(0, steps - 1))
        last = draw(st.integers(first, min(first + 2, steps - 1)))
        room = brim - max(loads[first : last + 1])
        if room:
            size = draw(st.integers(1, room))
            triples.append((size, first, last))
            for step in range(first, last + 1):
                loads[step] += size
    return words(triples), steps
