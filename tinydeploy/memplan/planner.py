"""Requests in, plan out: cheap packings, then hill climbing, then exact search, each only if still needed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from tinydeploy.memplan.exact import search
from tinydeploy.memplan.greedy import packings
from tinydeploy.memplan.improve import climb
from tinydeploy.memplan.live import DEFAULT_ALIGN, live_bytes
from tinydeploy.memplan.model import Buffer, Kind, Placement, Plan, PlanError, PoolPlan, Proof
from tinydeploy.memplan.problem import Problem, state

DEFAULT_VISITS = 2_000_000


def plan(
    buffers: Iterable[Buffer], steps: int, *, align: int = DEFAULT_ALIGN, visits: int = DEFAULT_VISITS
) -> Plan:
    """Offsets for all buffers of a program of ``steps`` steps, such that buffers live at once never overlap.

    Offsets and arena sizes are multiples of ``align``, a power of two, at least 4. ``visits`` limits the work
    spent on a pool when the cheap packings have missed its lower bound, half of it for climbing, half for the
    exact search; the default is about a second. The same buffers in any order give the same plan, on every
    machine.

    Raises PlanError where a key appears twice, a life ends after the last step, or an argument is out of
    range.
    """
    requests = sorted(buffers, key=lambda buffer: buffer.key)
    _check(requests, steps, align)
    count = max((buffer.pool for buffer in requests), default=0) + 1
    offsets: dict[int, int] = {}
    pools = []
    for index in range(count):
        members = [buffer for buffer in requests if buffer.pool == index]
        problem, items = state(members, align)
        packed, proof = _solve(problem, visits)
        offsets |= {item.key: offset * align for item, offset in zip(items, packed, strict=True)}
        pools.append(_figures(members, steps, align, problem.height(packed) * align, proof))
    return Plan(tuple(Placement(buffer, offsets[buffer.key]) for buffer in requests), tuple(pools))


def _check(requests: Sequence[Buffer], steps: int, align: int) -> None:
    """Refuse a problem that no plan could answer; ``requests`` are in key order."""
    if steps < 0:
        raise PlanError(f"a program of {steps} steps was given, at least 0 are allowed")
    if align < 4 or align & (align - 1):
        raise PlanError(f"alignment is {align} bytes, a power of two of at least 4 is allowed")
    for previous, buffer in pairwise(requests):
        if previous.key == buffer.key:
            raise PlanError("two buffers have this key, keys must be unique", where=f"buffer {buffer.key}")
    for buffer in requests:
        if buffer.last >= steps:
            raise PlanError(
                f"last step is {buffer.last}, but the program has {steps} steps", where=f"buffer {buffer.key}"
            )


def _solve(problem: Problem, visits: int) -> tuple[list[int], Proof]:
    """The lowest packing found for a problem, and how it is known to be the lowest."""
    best = [*accumulate(problem.sizes, initial=0)][:-1]
    height = problem.height(best)
    for packed in packings(problem):
        if problem.height(packed) < height:
            best, height = packed, problem.height(packed)
        if height == problem.bound:
            return best, Proof.BOUND_MET
    best = climb(problem, best, visits // 2)
    best, exhausted = search(problem, best, visits // 2)
    if problem.height(best) == problem.bound:
        return best, Proof.BOUND_MET
    return best, Proof.SEARCH_EXHAUSTED if exhausted else Proof.NONE


def _figures(members: Sequence[Buffer], steps: int, align: int, arena_bytes: int, proof: Proof) -> PoolPlan:
    step_peaks = live_bytes(members, steps, align=align)
    scratch = live_bytes((b for b in members if b.kind is Kind.SCRATCH), steps, align=align)
    tensors = live_bytes((b for b in members if b.kind is not Kind.SCRATCH), steps, align=align)
    lower_bound_bytes = max(step_peaks, default=0)
    tensor_bytes = max(tensors, default=0)
    return PoolPlan(
        step_peaks=step_peaks,
        tensor_bytes=tensor_bytes,
        scratch_bytes=arena_bytes - tensor_bytes,
        max_step_scratch_bytes=max(scratch, default=0),
        arena_bytes=arena_bytes,
        lower_bound_bytes=lower_bound_bytes,
        optimal=arena_bytes == lower_bound_bytes,
        proof=proof,
    )
