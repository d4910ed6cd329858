"""What the over-budget message needs to know."""

from __future__ import annotations

from tests.memplan.problems import tensors
from tinydeploy.memplan import Buffer, Kind, largest_holders, peak_step, plan, smallest_budget


def test_holders_are_the_largest_at_the_peak_in_order() -> None:
    buffers = tensors(
        [(900, 0, 0), (20, 1, 1), (400, 1, 1), (400, 0, 1), (40, 1, 1), (600, 1, 2), (30, 1, 1)]
    )
    made = plan(buffers, 3)
    assert peak_step(made) == 1
    assert [placement.buffer.key for placement in largest_holders(made)] == [5, 2, 3, 4, 6]
    assert [placement.buffer.key for placement in largest_holders(made, count=1)] == [5]
    assert len(largest_holders(made, count=50)) == 6
    assert all(placement in made.placements for placement in largest_holders(made))


def test_of_equal_peaks_the_first_counts() -> None:
    made = plan(tensors([(8, 0, 0), (8, 1, 1)]), 2)
    assert peak_step(made) == 0
    assert [placement.buffer.key for placement in largest_holders(made)] == [0]


def test_a_pool_has_its_own_peak_and_budget() -> None:
    buffers = [Buffer(0, 100, 0, 0, Kind.TENSOR), Buffer(1, 50, 1, 1, Kind.SCRATCH, pool=1)]
    made = plan(buffers, 2)
    assert smallest_budget(made) == 100
    assert smallest_budget(made, pool=1) == 52
    assert peak_step(made, pool=1) == 1
    assert [placement.buffer.key for placement in largest_holders(made, pool=1)] == [1]


def test_an_empty_plan_has_no_holders() -> None:
    made = plan([], 0)
    assert (peak_step(made), largest_holders(made), smallest_budget(made)) == (0, (), 0)
