"""Step-by-step runs and the first row that differs."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from tests.rpc.device_board import Board
from tests.rpc.lines import DirectLine
from tests.rpc.model import draw_inputs, expected_outputs, expected_rows
from tinydeploy.errors import DeviceError
from tinydeploy.rpc import (
    Client,
    FirstBad,
    InstanceTrace,
    StepCount,
    first_difference,
    profile,
    row_bytes,
    row_crcs,
    trace,
)
from tinydeploy.rpc.errors import InputError, ModelFailedError, RefusedError
from tinydeploy.rpc.messages import pack_step
from tinydeploy.rpc.protocol import Call, StepMode

RANDOM = np.random.default_rng(7)
INPUTS = draw_inputs(RANDOM)
PAST = (draw_inputs(RANDOM), draw_inputs(RANDOM))


def test_trace_covers_instances_that_alternate_in_a_segment(client: Client) -> None:
    rows = expected_rows(INPUTS, 0)
    expected = tuple(
        InstanceTrace(i, len(rows[i]), sum(map(len, rows[i])), zlib.crc32(b"".join(rows[i]))) for i in rows
    )
    assert trace(client, INPUTS) == expected


def test_a_traced_run_gives_the_outputs_of_a_run(client: Client) -> None:
    trace(client, INPUTS, PAST)
    for got, expected in zip(client.read_outputs(), expected_outputs(INPUTS, 2), strict=True):
        np.testing.assert_array_equal(got, expected, strict=True)


def test_rows_take_as_many_runs_as_answers_hold(client: Client) -> None:
    rows = expected_rows(INPUTS, 2)
    for instance in rows:
        crcs = row_crcs(client, instance, INPUTS, PAST)
        assert crcs == tuple(map(zlib.crc32, rows[instance]))
    assert row_bytes(client, 1, 1, INPUTS, PAST) == rows[1][1]
    assert row_bytes(client, 2, 19, INPUTS, PAST) == rows[2][19]
    assert row_bytes(client, 2, 20, INPUTS, PAST) == b""
    assert row_crcs(client, 9, INPUTS) == ()


def test_profile_counts_each_step_without_tracing(board: Board, line: DirectLine) -> None:
    board.boot(untraced=True)
    client = Client.connect(line, clock=line.clock)
    assert profile(client, INPUTS) == tuple(StepCount(step, 1000) for step in range(3))


def test_equal_runs_have_no_first_difference(board: Board, client: Client) -> None:
    assert first_difference(client, expected_rows(INPUTS, 2), INPUTS, PAST) is None
    assert board.runs == 3


@pytest.mark.parametrize(("instance", "row"), [(0, 0), (0, 1), (1, 1), (2, 0), (2, 17), (3, 0)])
def test_the_first_difference_names_instance_and_row(
    board: Board, client: Client, instance: int, row: int
) -> None:
    board.faults.flip_instance_plus_1 = instance + 1
    board.faults.flip_row = row
    expected = expected_rows(INPUTS, 0)[instance][row]
    got = expected[:-1] + bytes([expected[-1] ^ 1])
    found = first_difference(client, expected_rows(INPUTS, 0), INPUTS)
    assert found == FirstBad(instance, row, expected, got)
    assert found.offset == len(expected) - 1


@pytest.mark.parametrize("change", ["one row less", "one row more"])
def test_another_number_of_rows_is_a_difference(client: Client, change: str) -> None:
    reference = expected_rows(INPUTS, 0)
    reference[2] = reference[2][:-1] if change == "one row less" else [*reference[2], b"more"]
    found = first_difference(client, reference, INPUTS)
    if change == "one row less":
        assert found == FirstBad(2, 19, b"", expected_rows(INPUTS, 0)[2][19])
    else:
        assert found == FirstBad(2, 20, b"more", b"")
    assert found.offset == 0


def test_a_reference_of_another_model_is_named(client: Client) -> None:
    reference = expected_rows(INPUTS, 0)
    del reference[1]
    text = (
        "test-line: the reference has no rows of kernel instance 1, which the device traced. Flash the image"
    )
    with pytest.raises(InputError, match=text):
        first_difference(client, reference, INPUTS)


def test_a_device_that_does_not_repeat_itself_is_named(board: Board, client: Client) -> None:
    board.faults.flip_instance_plus_1 = 2
    board.faults.flip_only_in_run = 1
    text = "the device does not repeat itself: kernel instance 1 wrote other bytes in another run. Check"
    with pytest.raises(DeviceError, match=text):
        first_difference(client, expected_rows(INPUTS, 0), INPUTS)


def test_an_untraced_image_is_named(board: Board, line: DirectLine) -> None:
    board.boot(untraced=True)
    client = Client.connect(line, clock=line.clock)
    text = "refuses 'step': the image was built without it. Build the image with tracing"
    with pytest.raises(RefusedError, match=text):
        trace(client, INPUTS)


def test_a_step_with_too_many_instances_is_named(board: Board, client: Client) -> None:
    board.faults.extra_instances = 5
    text = "one step reports more instances than an answer holds. Build the image with a larger payload"
    with pytest.raises(RefusedError, match=text):
        trace(client, INPUTS)


def test_a_model_that_never_ends_is_named(board: Board, client: Client) -> None:
    board.faults.never_done = True
    text = r"the model failed in 'step': it did not end after its last step \(td_status 0\)"
    with pytest.raises(ModelFailedError, match=text):
        trace(client, INPUTS)


def test_between_steps_nothing_else_touches_the_arena(client: Client) -> None:
    client.write_inputs(INPUTS)
    client.call(Call.STEP, pack_step(StepMode.INSTANCES, 1))
    for wrong in (client.run, lambda: client.write_input(1, bytes(6))):
        with pytest.raises(RefusedError, match=r"a step-by-step run has not ended. Reset the model first"):
            wrong()
    with pytest.raises(RefusedError, match="no run has completed"):
        client.read_output(1)
    client.reset_model()
    assert client.infer(INPUTS).count
