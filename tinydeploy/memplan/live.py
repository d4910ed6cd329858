"""Live bytes per step: the lower bound of every plan, and the price of a candidate schedule."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import accumulate

from tinydeploy.memplan.model import Buffer

DEFAULT_ALIGN = 4


def aligned(size: int, align: int) -> int:
    """``size`` bytes rounded up to a multiple of ``align``."""
    return -(-size // align) * align


def peak(buffers: Iterable[Buffer], *, align: int = DEFAULT_ALIGN) -> int:
    """Most bytes live at once in any step, every size rounded up to ``align``; 0 without buffers.

    The price a schedule is judged by: no plan of these buffers needs less. All buffers count together,
    whatever their pool. The time grows with the number of buffers, not with the number of steps.
    """
    changes: defaultdict[int, int] = defaultdict(int)
    for buffer in buffers:
        size = aligned(buffer.size, align)
        changes[buffer.first] += size
        changes[buffer.last + 1] -= size
    return max(accumulate(changes[step] for step in sorted(changes)), default=0)


def live_bytes(buffers: Iterable[Buffer], steps: int, *, align: int = DEFAULT_ALIGN) -> tuple[int, ...]:
    """Aligned live bytes of each step from 0 to ``steps - 1``; every buffer must live within them."""
    changes = [0] * (steps + 1)
    for buffer in buffers:
        size = aligned(buffer.size, align)
        changes[buffer.first] += size
        changes[buffer.last + 1] -= size
    return tuple(accumulate(changes[:steps]))
