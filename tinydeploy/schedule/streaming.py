"""How a row segment runs, and the proof that its rings hold every row for as long as it is needed."""

from __future__ import annotations

from collections.abc import Iterator

from tinydeploy.errors import GraphError
from tinydeploy.schedule.program import Step


def order(step: Step) -> Iterator[tuple[int, int]]:
    """The (call, first output row) pairs of a step in the order in which they run.

    The latest call whose rows are all there goes first, so that nothing is computed before it is needed and
    nothing twice. The generated C makes the same choice at run time.
    """
    made = {call.output: index for index, call in enumerate(step.calls)}
    done = [0] * len(step.calls)
    while any(rows < call.kernel.result.rows for rows, call in zip(done, step.calls, strict=True)):
        for index in reversed(range(len(step.calls))):
            call = step.calls[index]
            if done[index] < call.kernel.result.rows and all(
                done[made[value]] >= min(access.end(done[index], call.kernel.band), access.rows)
                for value, access in zip(call.inputs, call.kernel.accesses, strict=True)
                if value in made
            ):
                yield index, done[index]
                done[index] += call.kernel.band
                break
        else:
            raise GraphError("a segment waits for rows that it never makes")


def verify_segment(step: Step) -> None:
    """Raise GraphError unless every row is whole, in its ring, when a call reads it.

    Checks the views of producer and consumer, the rings' sizes, and, row by row in the order of execution,
    that no row is read before it is written or after another one took its place.
    """
    made = {call.output: call for call in step.calls}
    newest = dict.fromkeys(made, 0)
    _check_views(step)
    for index, y in order(step):
        call = step.calls[index]
        kernel = call.kernel
        newest[call.output] = y + kernel.band
        for value, access in zip(call.inputs, kernel.accesses, strict=True):
            if value not in made:
                continue
            ring = step.ring_of(value)
            kept = ring.rows if ring is not None else access.rows
            first = max(access.first(y), 0)
            end = min(access.end(y, kernel.band), access.rows)
            if newest[value] < end:
                raise GraphError(f"row {end - 1} of %{value} is read before it is written")
            if first < newest[value] - kept:
                raise GraphError(
                    f"row {first} of %{value} is read after {newest[value] - first - kept} newer rows "
                    f"took its place in a ring of {kept}"
                )


def _check_views(step: Step) -> None:
    made = {call.output: call.kernel for call in step.calls}
    for ring in step.rings:
        if ring.value not in made:
            raise GraphError(f"ring %{ring.value} is not written by its step")
        if not 0 < ring.rows <= made[ring.value].result.rows or ring.rows % made[ring.value].band:
            raise GraphError(
                f"ring %{ring.value} has {ring.rows} rows, allowed is a multiple of the band "
                f"{made[ring.value].band} up to {made[ring.value].result.rows}"
            )
    for call in step.calls:
        if call.kernel.result.rows % call.kernel.band:
            raise GraphError(
                f"a band of {call.kernel.band} rows does not divide {call.kernel.result.rows} rows"
            )
        for value, access in zip(call.inputs, call.kernel.accesses, strict=True):
            producer = made.get(value)
            if producer is None:
                continue
            result = producer.result
            if (result.rows, result.row_bytes) != (access.rows, access.row_bytes):
                raise GraphError(
                    f"%{value} is written as {result.rows} rows of {result.row_bytes} bytes "
                    f"but read as {access.rows} of {access.row_bytes}"
                )
            read = step.ring_of(value)
            if read is not None and call.kernel.flat and read.rows % call.kernel.band:
                raise GraphError(
                    f"%{value} is read {call.kernel.band} contiguous rows at a time, "
                    f"which its ring of {read.rows} does not keep together"
                )
