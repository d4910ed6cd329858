"""The price function: most bytes live at once."""

from __future__ import annotations

from hypothesis import given, settings

from tests.memplan.problems import problems, tensors
from tinydeploy.memplan import Buffer, peak, plan


def test_no_buffers_cost_nothing() -> None:
    assert peak([]) == 0


def test_both_ends_of_a_life_count() -> None:
    assert peak(tensors([(8, 0, 1), (4, 1, 2)])) == 12
    assert peak(tensors([(8, 0, 1), (4, 2, 2)])) == 8


def test_sizes_count_as_aligned() -> None:
    assert peak(tensors([(1, 0, 0), (5, 0, 0)])) == 12
    assert peak(tensors([(1, 0, 0), (5, 0, 0)]), align=16) == 32


def test_all_pools_count_together() -> None:
    assert peak(tensors([(8, 0, 0)]) + tensors([(8, 0, 0)], pool=1)) == 16


@settings(derandomize=True, deadline=None, max_examples=200)
@given(problems())
def test_the_price_is_the_bound_of_the_plan(problem: tuple[list[Buffer], int]) -> None:
    buffers, steps = problem
    assert peak(iter(buffers)) == plan(buffers, steps, visits=0).lower_bound_bytes
