"""What a user over the budget needs to know: who holds the memory, and how much would do."""

from __future__ import annotations

from tinydeploy.memplan.model import Placement, Plan


def peak_step(plan: Plan, *, pool: int = 0) -> int:
    """The first step in which the pool's live bytes are at their peak; 0 for a program without steps."""
    peaks = plan.pools[pool].step_peaks
    return peaks.index(max(peaks)) if peaks else 0


def largest_holders(plan: Plan, count: int = 5, *, pool: int = 0) -> tuple[Placement, ...]:
    """At most ``count`` of the pool's buffers live at its ``peak_step``, the largest first, then by key."""
    step = peak_step(plan, pool=pool)
    live = [p for p in plan.placements if p.buffer.pool == pool and p.buffer.first <= step <= p.buffer.last]
    live.sort(key=lambda placement: (-placement.buffer.size, placement.buffer.key))
    return tuple(live[:count])


def smallest_budget(plan: Plan, *, pool: int = 0) -> int:
    """Bytes that the pool must have for this plan to work."""
    return plan.pools[pool].arena_bytes
