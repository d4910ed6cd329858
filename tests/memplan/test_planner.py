"""Plans of known problems: integer triples in, known peaks out."""

from __future__ import annotations

import pytest

from tests.memplan.problems import Triple, random_words, smallest_arena, tensors, words
from tinydeploy.memplan import Buffer, Kind, PlanError, PoolPlan, Proof, plan, verify

KNOWN: dict[str, tuple[list[Triple], int]] = {
    "one buffer": ([(100, 0, 0)], 100),
    "two at once": ([(100, 0, 1), (60, 1, 2)], 160),
    "one after the other": ([(100, 0, 0), (60, 1, 1)], 100),
    "odd sizes are rounded up": ([(1, 0, 0), (5, 0, 0)], 12),
    # Each layer reads the tensor before it and writes the next: the largest neighbours count.
    "chain": ([(3072, 0, 0), (16384, 0, 1), (8192, 1, 2), (4096, 2, 3), (64, 3, 4), (10, 4, 4)], 24576),
    # Two layers on a branch while the skip tensor waits for the addition.
    "residual": ([(4096, 0, 0), (4096, 0, 3), (4096, 1, 2), (4096, 2, 3), (4096, 3, 4), (2048, 4, 5)], 12288),
    # Expand by 6, filter, project, add: the two expanded tensors are the peak, beside the skip.
    "inverted residual": ([(600, 0, 3), (3600, 0, 1), (3600, 1, 2), (600, 2, 3), (600, 3, 3)], 7800),
    # The short tensors must go around the long one, not below it.
    "long life between large": ([(8, 0, 0), (24, 0, 1), (8, 0, 3), (24, 2, 3), (8, 3, 3)], 40),
}

GREEDY_MISSES: dict[str, list[Triple]] = {
    "seven in 8 words": [(2, 3, 5), (4, 0, 1), (3, 4, 4), (2, 2, 3), (2, 5, 5), (3, 2, 4), (3, 0, 2)],
    "seven in 10 words": [(2, 1, 2), (3, 0, 0), (3, 0, 1), (3, 3, 3), (4, 2, 3), (3, 3, 3), (4, 1, 2)],
}

# Five words are live at most, yet every placement needs six.
BOUND_OUT_OF_REACH: list[Triple] = [
    (2, 1, 2),
    (3, 3, 4),
    (2, 0, 1),
    (2, 4, 4),
    (1, 1, 3),
    (1, 2, 3),
    (3, 0, 0),
]


def steps_of(buffers: list[Buffer]) -> int:
    return 1 + max(buffer.last for buffer in buffers)


@pytest.mark.parametrize("name", KNOWN)
def test_a_known_problem_gets_its_known_arena(name: str) -> None:
    triples, arena_bytes = KNOWN[name]
    buffers = tensors(triples)
    made = plan(buffers, steps_of(buffers))
    verify(made, buffers, steps_of(buffers))
    assert made.arena_bytes == made.lower_bound_bytes == arena_bytes
    assert made.optimal
    assert made.proof is Proof.BOUND_MET


@pytest.mark.parametrize("name", GREEDY_MISSES)
def test_search_finds_what_greedy_misses(name: str) -> None:
    buffers = words(GREEDY_MISSES[name])
    greedy = plan(buffers, steps_of(buffers), visits=0)
    verify(greedy, buffers, steps_of(buffers))
    assert greedy.arena_bytes > greedy.lower_bound_bytes
    assert greedy.proof is Proof.NONE
    searched = plan(buffers, steps_of(buffers))
    verify(searched, buffers, steps_of(buffers))
    assert searched.arena_bytes == searched.lower_bound_bytes == smallest_arena(buffers)
    assert searched.proof is Proof.BOUND_MET


def test_an_exhausted_search_proves_a_plan_above_the_bound() -> None:
    buffers = words(BOUND_OUT_OF_REACH)
    made = plan(buffers, steps_of(buffers))
    verify(made, buffers, steps_of(buffers))
    assert made.lower_bound_bytes == 20
    assert made.arena_bytes == 24 == smallest_arena(buffers)
    assert made.proof is Proof.SEARCH_EXHAUSTED
    assert not made.optimal


def test_figures_tell_tensors_rings_and_scratch_apart() -> None:
    buffers = [
        Buffer(0, 100, 0, 1, Kind.TENSOR),
        Buffer(1, 30, 1, 1, Kind.RING),
        Buffer(2, 50, 0, 0, Kind.SCRATCH),
        Buffer(3, 10, 1, 1, Kind.SCRATCH),
    ]
    made = plan(buffers, 3)
    verify(made, buffers, 3)
    assert made.step_peaks == (152, 144, 0)
    assert made.tensor_bytes == 132
    assert made.arena_bytes == made.lower_bound_bytes == 152
    assert made.scratch_bytes == 20
    assert made.max_step_scratch_bytes == 52


def test_pools_are_planned_apart_and_summed() -> None:
    buffers = [
        Buffer(0, 100, 0, 0, Kind.TENSOR, pool=0),
        Buffer(1, 40, 0, 1, Kind.TENSOR, pool=2),
        Buffer(2, 60, 1, 1, Kind.SCRATCH, pool=2),
    ]
    made = plan(buffers, 2)
    verify(made, buffers, 2)
    assert [pool.arena_bytes for pool in made.pools] == [100, 0, 100]
    assert [placement.offset for placement in made.placements if placement.buffer.pool == 0] == [0]
    assert made.step_peaks == (140, 100)
    assert (made.arena_bytes, made.lower_bound_bytes) == (200, 200)
    assert (made.tensor_bytes, made.scratch_bytes, made.max_step_scratch_bytes) == (140, 60, 60)
    assert made.optimal
    assert made.proof is Proof.BOUND_MET


def test_the_weakest_pool_decides_the_proof() -> None:
    buffers = [*words(BOUND_OUT_OF_REACH), Buffer(99, 4, 0, 0, Kind.TENSOR, pool=1)]
    assert plan(buffers, 5).proof is Proof.SEARCH_EXHAUSTED
    assert not plan(buffers, 5).optimal
    assert plan(buffers, 5, visits=0).proof is Proof.NONE


@pytest.mark.parametrize("steps", [0, 3])
def test_no_buffers_need_no_memory(steps: int) -> None:
    made = plan([], steps)
    verify(made, [], steps)
    assert made.placements == ()
    assert made.pools == (PoolPlan((0,) * steps, 0, 0, 0, 0, 0, True, Proof.BOUND_MET),)


def test_alignment_holds_for_offsets_and_arena() -> None:
    buffers = tensors([(5, 0, 1), (17, 0, 2), (33, 1, 2)])
    made = plan(buffers, 3, align=16)
    verify(made, buffers, 3, align=16)
    assert made.arena_bytes == made.lower_bound_bytes == 16 + 32 + 48


@pytest.mark.parametrize("steps", [60, 1_000_000])
def test_idle_steps_cost_nothing_but_their_peaks(steps: int) -> None:
    buffers = tensors([(8, 0, 10), (8, 11, 59)])
    made = plan(buffers, steps)
    assert made.arena_bytes == 8
    assert sum(made.step_peaks) == 8 * 60


@pytest.mark.parametrize("longest_life", [3, 8, 20])
def test_sixty_buffers_come_within_a_hundredth_of_the_bound(longest_life: int) -> None:
    buffers = random_words(seed=7, count=60, steps=40, longest_life=longest_life)
    made = plan(buffers, 40)
    verify(made, buffers, 40)
    assert made.arena_bytes <= made.lower_bound_bytes * 1.01


@pytest.mark.parametrize(("longest_life", "excess"), [(6, 1.0), (50, 1.04)])
def test_five_hundred_buffers(longest_life: int, excess: float) -> None:
    buffers = random_words(seed=1, count=500, steps=200, longest_life=longest_life)
    made = plan(buffers, 200)
    verify(made, buffers, 200)
    assert made.arena_bytes <= made.lower_bound_bytes * excess


def test_a_chain_of_fifteen_hundred_meets_its_bound() -> None:
    buffers = tensors([(4 * (1 + step % 7), step, step + 1) for step in range(1500)])
    made = plan(buffers, 1501)
    assert made.optimal


def test_duplicate_keys_are_refused() -> None:
    buffers = [Buffer(4, 8, 0, 0, Kind.TENSOR), Buffer(4, 8, 1, 1, Kind.TENSOR)]
    with pytest.raises(PlanError, match=r"^buffer 4: two buffers have this key, keys must be unique$"):
        plan(buffers, 2)


def test_a_life_outside_the_program_is_refused() -> None:
    with pytest.raises(PlanError, match=r"^buffer 0: last step is 3, but the program has 3 steps$"):
        plan(tensors([(8, 1, 3)]), 3)


def test_negative_steps_are_refused() -> None:
    with pytest.raises(PlanError, match=r"^a program of -1 steps was given, at least 0 are allowed$"):
        plan([], -1)


@pytest.mark.parametrize("align", [0, 2, 12])
def test_an_odd_alignment_is_refused(align: int) -> None:
    message = f"^alignment is {align} bytes, a power of two of at least 4 is allowed$"
    with pytest.raises(PlanError, match=message):
        plan([], 1, align=align)
