"""The exact search on its own, from the worst start, so that no cheap packing hides what it does."""

from __future__ import annotations

from itertools import accumulate

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.memplan.problems import Triple, smallest_arena, tight_problems, words
from tinydeploy.memplan import Buffer
from tinydeploy.memplan.exact import search
from tinydeploy.memplan.problem import Problem, state


def one_above_the_other(problem: Problem) -> list[int]:
    return [*accumulate(problem.sizes, initial=0)][:-1]


@settings(derandomize=True, deadline=None, max_examples=200)
@given(tight_problems())
def test_search_alone_finds_the_optimum(case: tuple[list[Buffer], int]) -> None:
    buffers, _ = case
    problem, _ = state(buffers, 4)
    offsets, exhausted = search(problem, one_above_the_other(problem), 1_000_000)
    assert exhausted
    assert 4 * problem.height(offsets) == smallest_arena(buffers)


@given(st.integers(0, 300))
@settings(derandomize=True, deadline=None, max_examples=50)
def test_a_stopped_search_returns_a_packing_and_claims_nothing(visits: int) -> None:
    problem, _ = state(
        words([(2, 1, 2), (3, 3, 4), (2, 0, 1), (2, 4, 4), (1, 1, 3), (1, 2, 3), (3, 0, 0)]), 4
    )
    start = one_above_the_other(problem)
    offsets, exhausted = search(problem, start, visits)
    assert problem.height(offsets) <= problem.height(start)
    assert problem.height(offsets) >= 6
    assert problem.height(offsets) == 6 or not exhausted


def test_the_depth_of_a_problem_is_no_limit() -> None:
    problem, _ = state(words([(1 + step % 7, step, step + 1) for step in range(1100)]), 4)
    offsets, _ = search(problem, one_above_the_other(problem), 3_000_000)
    assert problem.height(offsets) < sum(problem.sizes)


@pytest.mark.parametrize(
    ("triples", "height"),
    [
        ([(1, 3, 3), (2, 2, 2), (2, 1, 3), (1, 1, 3), (4, 0, 0), (1, 0, 1), (1, 3, 3)], 5),
        (
            [
                (1, 1, 2),
                (3, 2, 3),
                (1, 0, 0),
                (1, 4, 5),
                (2, 1, 1),
                (1, 4, 5),
                (1, 4, 5),
                (1, 5, 5),
                (1, 0, 1),
            ],
            4,
        ),
    ],
)
def test_a_state_explored_under_higher_items_is_explored_again(triples: list[Triple], height: int) -> None:
    """The same items open at the same heights finish lower if what is already placed ends lower."""
    problem, _ = state(words(triples), 4)
    offsets, exhausted = search(problem, one_above_the_other(problem), 1_000_000)
    assert exhausted
    assert problem.height(offsets) == height == problem.bound
