"""Step-by-step runs: what each kernel instance wrote, what each step cost.

Each function resets the model, runs it over `history`, then steps through `inputs`, so that repeating it
repeats its result, state variables included. Afterwards the outputs of `inputs` can be read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from tinydeploy.rpc.client import Client
from tinydeploy.rpc.errors import BadAnswerError
from tinydeploy.rpc.messages import (
    ALL_STEPS,
    STEP_HEAD_BYTES,
    Array,
    InstanceTrace,
    StepAnswer,
    StepCount,
    pack_step,
    unpack_instances,
    unpack_step,
    unpack_step_counts,
    unpack_words,
)
from tinydeploy.rpc.protocol import Call, StepMode

Inputs = Sequence[Array]
_T = TypeVar("_T")


def trace(client: Client, inputs: Inputs, history: Sequence[Inputs] = ()) -> tuple[InstanceTrace, ...]:
    """The CRC of everything that each kernel instance writes, in the order in which they begin.

    An instance appears once: it belongs to one step. Raises RefusedError for an image without tracing.
    """
    return _report_of_run(client, StepMode.INSTANCES, unpack_instances, inputs, history)


def profile(client: Client, inputs: Inputs, history: Sequence[Inputs] = ()) -> tuple[StepCount, ...]:
    """What the board's counter advances by in each step. Tracing is off; works with every image."""
    return _report_of_run(client, StepMode.COUNTS, unpack_step_counts, inputs, history)


def row_crcs(
    client: Client, instance: int, inputs: Inputs, history: Sequence[Inputs] = ()
) -> tuple[int, ...]:
    """The CRC of each row that `instance` writes, in ascending order. One run per answer full of them."""
    per_run = (client.device.max_payload_bytes - STEP_HEAD_BYTES) // 4
    crcs: list[int] = []
    while True:
        more = _rows_of_run(client, StepMode.ROWS, unpack_words, (instance, len(crcs), 0), inputs, history)
        crcs += more
        if len(more) < per_run:
            return tuple(crcs)


def row_bytes(
    client: Client, instance: int, row: int, inputs: Inputs, history: Sequence[Inputs] = ()
) -> bytes:
    """The bytes of one row of `instance`; empty where it writes no such row. One run per answer full."""
    data = bytearray()
    while True:
        report = _rows_of_run(client, StepMode.BYTES, bytes, (instance, row, len(data)), inputs, history)
        data += report[4:]
        if len(data) >= int.from_bytes(report[:4], "little"):
            return bytes(data)
        if len(report) <= 4:
            raise BadAnswerError(client.where, Call.STEP, f"lacks bytes of row {row} of instance {instance}")


def _prepare(client: Client, inputs: Inputs, history: Sequence[Inputs]) -> None:
    client.reset_model()
    for past in history:
        client.write_inputs(past)
        client.run()
    client.write_inputs(inputs)


def _report_of_run(
    client: Client,
    mode: StepMode,
    read: Callable[[bytes], list[_T]],
    inputs: Inputs,
    history: Sequence[Inputs],
) -> tuple[_T, ...]:
    """The reports of one run, which takes as many calls as the device's answers hold."""

    def entries_of(payload: bytes) -> tuple[StepAnswer, list[_T]]:
        answer = unpack_step(payload)
        if not answer.done and not answer.steps:
            raise ValueError("says that no step was run")
        return answer, read(answer.report)

    _prepare(client, inputs, history)
    entries: list[_T] = []
    while True:
        answer, more = client.parsed(Call.STEP, pack_step(mode, ALL_STEPS), entries_of)
        entries += more
        if answer.done:
            return tuple(entries)


def _rows_of_run(
    client: Client,
    mode: StepMode,
    read: Callable[[bytes], _T],
    where: tuple[int, int, int],
    inputs: Inputs,
    history: Sequence[Inputs],
) -> _T:
    """What one run reports of an instance, from a row and an offset on (`where`)."""

    def report_of(payload: bytes) -> _T:
        answer = unpack_step(payload)
        if not answer.done:
            raise ValueError(f"says that the model goes on after {answer.steps} steps")
        return read(answer.report)

    _prepare(client, inputs, history)
    return client.parsed(Call.STEP, pack_step(mode, ALL_STEPS, *where), report_of)
