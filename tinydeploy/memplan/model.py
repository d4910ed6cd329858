"""The plain data of memory planning: what is asked for, what is answered, and the one error."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from tinydeploy.errors import TinyDeployError


class PlanError(TinyDeployError):
    """A request is malformed or a plan is wrong.

    Unlike its siblings it is a fault of the program that asked or planned, so it has an exit code of its own.
    """

    exit_code = 70


class Kind(Enum):
    """What a buffer is for; only the figures tell kinds apart, the allocator does not."""

    TENSOR = "tensor"
    RING = "ring"
    SCRATCH = "scratch"


class Proof(Enum):
    """How it is known that no smaller arena exists for a pool's buffers.

    ``SEARCH_EXHAUSTED`` says that the lower bound cannot be met: ``arena_bytes`` is the smallest arena there
    is, although it is above ``lower_bound_bytes`` and ``optimal``, which compares the two, is false.
    """

    BOUND_MET = "bound met"
    SEARCH_EXHAUSTED = "search exhausted"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Buffer:
    """One request: ``size`` bytes during the steps ``first`` to ``last``, both inclusive, in pool ``pool``.

    ``key`` is the caller's own identity of the buffer, unique in a problem. Raises PlanError where a value is
    out of its range, so that a malformed buffer does not exist.
    """

    key: int
    size: int
    first: int
    last: int
    kind: Kind
    pool: int = 0

    def __post_init__(self) -> None:
        where = f"buffer {self.key}"
        if self.size <= 0:
            raise PlanError(f"size is {self.size} bytes, at least 1 is allowed", where=where)
        if self.first < 0:
            raise PlanError(f"first step is {self.first}, steps count from 0", where=where)
        if self.last < self.first:
            raise PlanError(f"last step {self.last} is before first step {self.first}", where=where)
        if self.pool < 0:
            raise PlanError(f"pool is {self.pool}, pools count from 0", where=where)


@dataclass(frozen=True, slots=True)
class Placement:
    """A buffer and the byte offset of its first byte in its pool."""

    buffer: Buffer
    offset: int


@dataclass(frozen=True, slots=True)
class PoolPlan:
    """The figures of one pool. Sizes count as aligned: rounded up to the plan's alignment.

    ``step_peaks``              live bytes of each step
    ``tensor_bytes``            largest live bytes of tensors and rings in any step
    ``scratch_bytes``           ``arena_bytes - tensor_bytes``: what scratch and fragmentation add to it
    ``max_step_scratch_bytes``  largest live bytes of scratch in any step
    ``arena_bytes``             what must be provided: the highest end of a buffer
    ``lower_bound_bytes``       the largest of ``step_peaks``; no plan of these buffers is smaller
    ``optimal``                 ``arena_bytes == lower_bound_bytes``
    ``proof``                   why no smaller arena exists, if that is known
    """

    step_peaks: tuple[int, ...]
    tensor_bytes: int
    scratch_bytes: int
    max_step_scratch_bytes: int
    arena_bytes: int
    lower_bound_bytes: int
    optimal: bool
    proof: Proof


@dataclass(frozen=True, slots=True)
class Plan:
    """Every buffer's place, in key order, and the figures of every pool: ``pools[i]`` is pool ``i``.

    There is a pool for each index up to the highest in use, and always pool 0; one without buffers has zeros.
    The plan's own figures are sums over its pools, so with one pool, the usual case, they are its figures.
    """

    placements: tuple[Placement, ...]
    pools: tuple[PoolPlan, ...]

    @property
    def step_peaks(self) -> tuple[int, ...]:
        """Live bytes of each step, all pools together."""
        return tuple(map(sum, zip(*(pool.step_peaks for pool in self.pools), strict=True)))

    @property
    def tensor_bytes(self) -> int:
        return sum(pool.tensor_bytes for pool in self.pools)

    @property
    def scratch_bytes(self) -> int:
        return sum(pool.scratch_bytes for pool in self.pools)

    @property
    def max_step_scratch_bytes(self) -> int:
        return sum(pool.max_step_scratch_bytes for pool in self.pools)

    @property
    def arena_bytes(self) -> int:
        return sum(pool.arena_bytes for pool in self.pools)

    @property
    def lower_bound_bytes(self) -> int:
        """With several pools more than ``max(step_peaks)`` where their peaks lie in different steps."""
        return sum(pool.lower_bound_bytes for pool in self.pools)

    @property
    def optimal(self) -> bool:
        return all(pool.optimal for pool in self.pools)

    @property
    def proof(self) -> Proof:
        """The weakest of the pools' proofs."""
        proofs = {pool.proof for pool in self.pools}
        return next(
            (proof for proof in (Proof.NONE, Proof.SEARCH_EXHAUSTED) if proof in proofs), Proof.BOUND_MET
        )
