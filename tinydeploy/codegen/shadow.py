"""The shadow run: which bytes of the arena are dead in each step, as data for the host harness."""

from __future__ import annotations

from tinydeploy.codegen.literals import CComment
from tinydeploy.codegen.render import render
from tinydeploy.memplan import Plan
from tinydeploy.schedule import Program, step_count

Range = tuple[int, int, int]
"""(step, offset, bytes)."""


def dead_ranges(plan: Plan, steps: int) -> list[Range]:
    """Gaps between the live buffers of each step, in order of steps and offsets."""
    gaps: list[Range] = []
    for step in range(steps):
        live = sorted(
            (placement.offset, placement.offset + placement.buffer.size)
            for placement in plan.placements
            if placement.buffer.first <= step <= placement.buffer.last
        )
        position = 0
        for start, end in [*live, (plan.arena_bytes, plan.arena_bytes)]:
            if start > position:
                gaps.append((step, position, start - position))
            position = max(position, end)
    return gaps


def shadow_source(program: Program, plan: Plan) -> str:
    """The C file that the host harness links."""
    ranges = dead_ranges(plan, step_count(program))
    return render("shadow.c.j2", title=CComment(program.graph.name), ranges=ranges)
