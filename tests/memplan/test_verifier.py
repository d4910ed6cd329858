"""The verifier turns down every kind of wrong plan, and says what is wrong where."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tinydeploy.memplan import Buffer, Kind, Plan, PlanError, Proof, plan, verify

STEPS = 3
BUFFERS = (
    Buffer(10, 100, 0, 1, Kind.TENSOR),
    Buffer(11, 30, 1, 2, Kind.RING),
    Buffer(12, 50, 0, 0, Kind.SCRATCH),
    Buffer(13, 10, 1, 1, Kind.SCRATCH),
)
GOOD = plan(BUFFERS, STEPS)
OFFSETS = [placement.offset for placement in GOOD.placements]


def with_offset(index: int, offset: int) -> Plan:
    moved = replace(GOOD.placements[index], offset=offset)
    return replace(GOOD, placements=(*GOOD.placements[:index], moved, *GOOD.placements[index + 1 :]))


def with_buffer(index: int, **changes: Any) -> Plan:
    changed = replace(GOOD.placements[index], buffer=replace(GOOD.placements[index].buffer, **changes))
    return replace(GOOD, placements=(*GOOD.placements[:index], changed, *GOOD.placements[index + 1 :]))


def with_figures(**changes: Any) -> Plan:
    return replace(GOOD, pools=(replace(GOOD.pools[0], **changes),))


def with_larger_arena(**changes: Any) -> Plan:
    """Correct and wasteful: the last buffer moved up by 100 bytes, all figures true unless changed."""
    moved = with_offset(3, 152)
    figures: dict[str, Any] = {
        "arena_bytes": 164,
        "scratch_bytes": 32,
        "optimal": False,
        "proof": Proof.NONE,
    } | changes
    return replace(moved, pools=(replace(GOOD.pools[0], **figures),))


MUTANTS: dict[str, tuple[Callable[[], Plan], str]] = {
    "offset onto a neighbour": (
        lambda: with_offset(1, OFFSETS[0]),
        "buffers 10 and 11: both hold byte 0 of pool 0 in step 1",
    ),
    "offset past the arena": (
        lambda: with_offset(1, 400),
        "pool 0: arena_bytes is 152, 432 is right",
    ),
    "offset before the arena": (
        lambda: with_offset(0, -4),
        "buffer 10: offset -4 is before the pool's first byte",
    ),
    "offset misaligned": (
        lambda: with_offset(0, 2),
        "buffer 10: offset 2 is not a multiple of 4",
    ),
    "placement dropped": (
        lambda: replace(GOOD, placements=GOOD.placements[1:]),
        "buffer 10: requested but not placed",
    ),
    "placement doubled": (
        lambda: replace(GOOD, placements=(GOOD.placements[0], *GOOD.placements)),
        "buffer 10: placed more than once",
    ),
    "foreign key": (
        lambda: with_buffer(0, key=9),
        "buffer 9: placed but never requested",
    ),
    "placements out of order": (
        lambda: replace(GOOD, placements=GOOD.placements[::-1]),
        "plan: placements are in the order [13, 12, 11, 10], key order is required",
    ),
    "smaller size": (
        lambda: with_buffer(0, size=99),
        "buffer 10: placed as 99 bytes of tensor in pool 0, steps 0 to 1, requested as 100 bytes of",
    ),
    "later first step": (
        lambda: with_buffer(0, first=1),
        "buffer 10: placed as 100 bytes of tensor in pool 0, steps 1 to 1, requested as",
    ),
    "earlier last step": (
        lambda: with_buffer(0, last=0),
        "buffer 10: placed as 100 bytes of tensor in pool 0, steps 0 to 0, requested as",
    ),
    "other kind": (
        lambda: with_buffer(0, kind=Kind.SCRATCH),
        "buffer 10: placed as 100 bytes of scratch in pool 0, steps 0 to 1, requested as",
    ),
    "other pool": (
        lambda: with_buffer(0, pool=1),
        "buffer 10: placed as 100 bytes of tensor in pool 1, steps 0 to 1, requested as",
    ),
    "pool left out": (
        lambda: replace(GOOD, pools=()),
        "plan: describes 0 pools, the buffers use pools 0 to 0",
    ),
    "pool too many": (
        lambda: replace(GOOD, pools=GOOD.pools * 2),
        "plan: describes 2 pools, the buffers use pools 0 to 0",
    ),
    "step left out": (
        lambda: with_figures(step_peaks=(152, 144)),
        "pool 0: step_peaks has 2 entries for 3 steps",
    ),
    "wrong step peak": (
        lambda: with_figures(step_peaks=(152, 140, 32)),
        "pool 0, step 1: step_peaks says 140, 144 bytes are live",
    ),
    "arena too small": (
        lambda: with_figures(arena_bytes=148),
        "pool 0: arena_bytes is 148, 152 is right",
    ),
    "arena too large": (
        lambda: with_figures(arena_bytes=156),
        "pool 0: arena_bytes is 156, 152 is right",
    ),
    "wrong bound": (
        lambda: with_figures(lower_bound_bytes=148),
        "pool 0: lower_bound_bytes is 148, 152 is right",
    ),
    "wrong tensor bytes": (
        lambda: with_figures(tensor_bytes=100),
        "pool 0: tensor_bytes is 100, 132 is right",
    ),
    "wrong scratch bytes": (
        lambda: with_figures(scratch_bytes=52),
        "pool 0: scratch_bytes is 52, 20 is right",
    ),
    "wrong step scratch": (
        lambda: with_figures(max_step_scratch_bytes=12),
        "pool 0: max_step_scratch_bytes is 12, 52 is right",
    ),
    "optimal denied": (
        lambda: with_figures(optimal=False),
        "pool 0: optimal is False, but arena_bytes is 152 and lower_bound_bytes 152",
    ),
    "optimal claimed": (
        lambda: with_larger_arena(optimal=True),
        "pool 0: optimal is True, but arena_bytes is 164 and lower_bound_bytes 152",
    ),
    "bound met denied": (
        lambda: with_figures(proof=Proof.SEARCH_EXHAUSTED),
        "pool 0: proof is 'search exhausted', but arena_bytes is 152 and lower_bound_bytes 152",
    ),
    "bound met claimed": (
        lambda: with_larger_arena(proof=Proof.BOUND_MET),
        "pool 0: proof is 'bound met', but arena_bytes is 164 and lower_bound_bytes 152",
    ),
}


def test_the_unchanged_plan_passes() -> None:
    verify(GOOD, BUFFERS, STEPS)
    verify(GOOD, reversed(BUFFERS), STEPS, capacity={0: 152, 1: 0})


def test_a_wasteful_plan_that_says_so_passes() -> None:
    verify(with_larger_arena(), BUFFERS, STEPS)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_turned_down(name: str) -> None:
    mutate, message = MUTANTS[name]
    with pytest.raises(PlanError, match="^" + re.escape(message)) as caught:
        verify(mutate(), BUFFERS, STEPS)
    assert caught.value.fix == "This is a fault in tinydeploy's planner; please report it"


def test_a_plan_larger_than_its_pool_is_turned_down() -> None:
    with pytest.raises(PlanError, match=r"^pool 0: arena_bytes is 152, the pool has 148 bytes"):
        verify(GOOD, BUFFERS, STEPS, capacity={0: 148})


def test_a_coarser_alignment_is_checked() -> None:
    with pytest.raises(PlanError, match=r"^buffer \d+: offset \d+ is not a multiple of 64"):
        verify(GOOD, BUFFERS, STEPS, align=64)


def test_contradicting_requests_are_turned_down() -> None:
    with pytest.raises(PlanError, match=r"^buffer 10: requested more than once"):
        verify(GOOD, (BUFFERS[0], *BUFFERS), STEPS)
    with pytest.raises(PlanError, match=r"^buffer 11: lives until step 2 of 2 steps"):
        verify(GOOD, BUFFERS, 2)


def test_buffers_of_different_pools_do_not_overlap() -> None:
    buffers = [Buffer(0, 8, 0, 0, Kind.TENSOR, pool=0), Buffer(1, 8, 0, 0, Kind.TENSOR, pool=1)]
    made = plan(buffers, 1)
    assert [placement.offset for placement in made.placements] == [0, 0]
    verify(made, buffers, 1)
