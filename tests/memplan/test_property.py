"""Promises that hold for every problem."""

from __future__ import annotations

from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.memplan.problems import problems, smallest_arena, tight_problems
from tinydeploy.memplan import Buffer, Proof, plan, verify

repeatable = settings(derandomize=True, deadline=None, max_examples=150)


@repeatable
@given(problems(pools=3), st.sampled_from([4, 8, 64]))
def test_every_plan_verifies(problem: tuple[list[Buffer], int], align: int) -> None:
    buffers, steps = problem
    made = plan(buffers, steps, align=align, visits=20_000)
    verify(made, buffers, steps, align=align)
    assert made.arena_bytes >= made.lower_bound_bytes >= max(made.step_peaks)
    assert made.arena_bytes == made.tensor_bytes + made.scratch_bytes


@repeatable
@given(problems(), st.integers(0, 2**32))
def test_the_order_of_requests_does_not_matter(problem: tuple[list[Buffer], int], seed: int) -> None:
    buffers, steps = problem
    shuffled = list(buffers)
    Random(seed).shuffle(shuffled)
    assert plan(iter(shuffled), steps, visits=20_000) == plan(buffers, steps, visits=20_000)


@repeatable
@given(problems())
def test_more_work_never_makes_a_plan_larger(problem: tuple[list[Buffer], int]) -> None:
    buffers, steps = problem
    sizes = [plan(buffers, steps, visits=visits).arena_bytes for visits in (0, 2_000, 100_000)]
    assert sizes == sorted(sizes, reverse=True)


@repeatable
@given(tight_problems())
def test_a_small_problem_gets_its_optimum_and_a_proof(problem: tuple[list[Buffer], int]) -> None:
    buffers, steps = problem
    made = plan(buffers, steps)
    verify(made, buffers, steps)
    assert made.proof is not Proof.NONE
    assert made.arena_bytes == smallest_arena(buffers)
