"""An independent check of a plan: nothing here is shared with the code that makes plans.

Everything that a plan says is recomputed from the requests in the plainest way, pair by pair, step by step.
The one thing taken on trust is that an exhausted search was exhausted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tinydeploy.memplan.model import Buffer, Kind, Placement, Plan, PlanError, PoolPlan, Proof


def verify(
    plan: Plan,
    buffers: Iterable[Buffer],
    steps: int,
    *,
    align: int = 4,
    capacity: Mapping[int, int] | None = None,
) -> None:
    """Return if ``plan`` is a correct plan of ``buffers`` over ``steps`` steps, and all that it says is true.

    ``capacity`` is the bytes that pools have, by index; a pool it does not name is not limited. Raises
    PlanError at the first fault found, naming buffer, pool and step, what is there and what is right.
    """
    requests = sorted(buffers, key=lambda buffer: buffer.key)
    _check_buffers(plan.placements, requests, steps)
    _check_offsets(plan.placements, align)
    _check_overlap(plan.placements)
    count = 1 + max((buffer.pool for buffer in requests), default=0)
    if len(plan.pools) != count:
        raise _fault("plan", f"describes {len(plan.pools)} pools, the buffers use pools 0 to {count - 1}")
    for index, pool in enumerate(plan.pools):
        placements = [placement for placement in plan.placements if placement.buffer.pool == index]
        _check_figures(f"pool {index}", pool, placements, steps, align)
        _check_proof(f"pool {index}", pool)
        if capacity is not None and pool.arena_bytes > capacity.get(index, pool.arena_bytes):
            raise _fault(
                f"pool {index}", f"arena_bytes is {pool.arena_bytes}, the pool has {capacity[index]} bytes"
            )


def _fault(where: str, what: str) -> PlanError:
    return PlanError(what, where=where, fix="This is a fault in tinydeploy's planner; please report it")


def _check_buffers(placements: Sequence[Placement], requests: Sequence[Buffer], steps: int) -> None:
    """Each request is placed exactly once and unchanged, and nothing else is."""
    wanted: dict[int, Buffer] = {}
    for request in requests:
        if request.key in wanted:
            raise _fault(f"buffer {request.key}", "requested more than once")
        if request.last >= steps:
            raise _fault(f"buffer {request.key}", f"lives until step {request.last} of {steps} steps")
        wanted[request.key] = request
    placed: set[int] = set()
    for placement in placements:
        got = placement.buffer
        if got.key not in wanted:
            raise _fault(f"buffer {got.key}", "placed but never requested")
        if got.key in placed:
            raise _fault(f"buffer {got.key}", "placed more than once")
        placed.add(got.key)
        want = wanted[got.key]
        if got != want:
            raise _fault(f"buffer {got.key}", f"placed as {_describe(got)}, requested as {_describe(want)}")
    for key in wanted:
        if key not in placed:
            raise _fault(f"buffer {key}", "requested but not placed")
    keys = [placement.buffer.key for placement in placements]
    if keys != sorted(keys):
        raise _fault("plan", f"placements are in the order {keys}, key order is required")


def _describe(buffer: Buffer) -> str:
    life = f"steps {buffer.first} to {buffer.last}"
    return f"{buffer.size} bytes of {buffer.kind.value} in pool {buffer.pool}, {life}"


def _check_offsets(placements: Sequence[Placement], align: int) -> None:
    for placement in placements:
        where = f"buffer {placement.buffer.key}"
        if placement.offset < 0:
            raise _fault(where, f"offset {placement.offset} is before the pool's first byte")
        if placement.offset % align != 0:
            raise _fault(where, f"offset {placement.offset} is not a multiple of {align}")


def _check_overlap(placements: Sequence[Placement]) -> None:
    """No two buffers share a byte in a step in which both live."""
    for index, one in enumerate(placements):
        for other in placements[:index]:
            a, b = one.buffer, other.buffer
            step = max(a.first, b.first)
            byte = max(one.offset, other.offset)
            if (
                a.pool == b.pool
                and step <= min(a.last, b.last)
                and byte < min(one.offset + a.size, other.offset + b.size)
            ):
                raise _fault(
                    f"buffers {b.key} and {a.key}", f"both hold byte {byte} of pool {a.pool} in step {step}"
                )


def _check_figures(
    where: str, pool: PoolPlan, placements: Sequence[Placement], steps: int, align: int
) -> None:
    if len(pool.step_peaks) != steps:
        raise _fault(where, f"step_peaks has {len(pool.step_peaks)} entries for {steps} steps")
    every = set(Kind)
    for step, got in enumerate(pool.step_peaks):
        live = _live_bytes(placements, step, every, align)
        if got != live:
            raise _fault(f"{where}, step {step}", f"step_peaks says {got}, {live} bytes are live")
    highest_end = 0
    for placement in placements:
        end = placement.offset + placement.buffer.size
        while end % align != 0:
            end += 1
        highest_end = max(highest_end, end)
    tensor_bytes = _peak(placements, steps, {Kind.TENSOR, Kind.RING}, align)
    right = {
        "arena_bytes": (pool.arena_bytes, highest_end),
        "lower_bound_bytes": (pool.lower_bound_bytes, _peak(placements, steps, every, align)),
        "tensor_bytes": (pool.tensor_bytes, tensor_bytes),
        "scratch_bytes": (pool.scratch_bytes, highest_end - tensor_bytes),
        "max_step_scratch_bytes": (
            pool.max_step_scratch_bytes,
            _peak(placements, steps, {Kind.SCRATCH}, align),
        ),
    }
    for name, (got, wanted) in right.items():
        if got != wanted:
            raise _fault(where, f"{name} is {got}, {wanted} is right")


def _peak(placements: Sequence[Placement], steps: int, kinds: set[Kind], align: int) -> int:
    return max((_live_bytes(placements, step, kinds, align) for step in range(steps)), default=0)


def _live_bytes(placements: Sequence[Placement], step: int, kinds: set[Kind], align: int) -> int:
    total = 0
    for placement in placements:
        buffer = placement.buffer
        if buffer.kind in kinds and buffer.first <= step <= buffer.last:
            total += (buffer.size + align - 1) // align * align
    return total


def _check_proof(where: str, pool: PoolPlan) -> None:
    """``optimal`` and ``proof`` agree with each other and with the two sizes that they speak about."""
    met = pool.arena_bytes == pool.lower_bound_bytes
    sizes = f"arena_bytes is {pool.arena_bytes} and lower_bound_bytes {pool.lower_bound_bytes}"
    if pool.optimal != met:
        raise _fault(where, f"optimal is {pool.optimal}, but {sizes}")
    if met != (pool.proof is Proof.BOUND_MET):
        raise _fault(where, f"proof is {pool.proof.value!r}, but {sizes}")
