"""The calls, over a perfect line to the C server."""

from __future__ import annotations

import numpy as np
import pytest

from tests.rpc.device_board import Board
from tests.rpc.lines import DirectLine
from tests.rpc.model import draw_inputs, expected_outputs
from tinydeploy.errors import DeviceError
from tinydeploy.rpc import Call, Capability, Client, CounterUnit, DeviceInfo, Level, Status
from tinydeploy.rpc.errors import InputError, ModelFailedError, RefusedError
from tinydeploy.rpc.messages import DType, TensorInfo


def test_hello_tells_what_the_device_is(client: Client) -> None:
    assert client.device == DeviceInfo(
        abi=1,
        level=Level.DEBUG,
        capabilities=Capability.TRACE | Capability.COUNT | Capability.RESET | Capability.MEMORY,
        max_payload_bytes=64,
        counter_unit=CounterUnit.TICKS,
        counter_hz=1_000_000,
        model_status=0,
        board="memory-board",
    )


def test_a_poor_board_tells_so(board: Board, line: DirectLine) -> None:
    board.boot(untraced=True, no_counter=True, no_reset=True)
    client = Client.connect(line, clock=line.clock)
    assert client.device.capabilities == Capability.MEMORY
    assert client.device.counter_unit is CounterUnit.NOTHING
    assert client.infer(draw_inputs(np.random.default_rng(1))).count == 0


def test_the_model_is_described_with_long_names_whole(client: Client) -> None:
    model = client.describe()
    assert (model.name, model.hash, model.steps, model.instances) == ("fake", 0x0123456789ABCDEF, 3, 4)
    long_name = (
        "image/a name that is longer than one payload of sixty-four bytes, so that it travels in parts"
    )
    assert model.inputs == (
        TensorInfo(long_name, DType.INT8, (2, 150), 300, 0.5, -1),
        TensorInfo("words", DType.INT16, (3,), 6, 0.0, 0),
    )
    assert model.outputs == (
        TensorInfo("out", DType.INT8, (2, 150), 300, 0.25, 3),
        TensorInfo("sum", DType.INT32, (1,), 4, 0.0, 0),
    )


def test_runs_keep_their_state_until_a_reset(board: Board, client: Client) -> None:
    random = np.random.default_rng(2)
    for counter in (0, 1, 2):
        inputs = draw_inputs(random)
        result = client.infer(inputs)
        assert result.count == 1000
        for got, expected in zip(result.outputs, expected_outputs(inputs, counter), strict=True):
            np.testing.assert_array_equal(got, expected, strict=True)
    client.reset_model()
    assert board.counter == 0


def test_a_new_session_begins_with_a_fresh_model(board: Board, client: Client, line: DirectLine) -> None:
    client.infer(draw_inputs(np.random.default_rng(3)))
    assert board.counter == 1
    Client.connect(line, clock=line.clock)
    assert board.counter == 0


def test_memory_of_a_debug_image(board: Board, client: Client) -> None:
    data = bytes(range(100, 164))
    client.write_memory(board.scratch, data)
    assert client.read_memory(board.scratch, 64) == data
    client.write_memory(board.scratch + 3, b"odd")
    assert client.read_memory(board.scratch + 1, 7) == b"\x65\x66odd\x6a\x6b"


def test_a_restart_ends_the_session(board: Board, client: Client, line: DirectLine) -> None:
    client.reset_device()
    assert board.resets
    message = (
        "test-line: an earlier call ended the session: the device was told to restart. "
        "Connect again; the model's state starts anew"
    )
    with pytest.raises(DeviceError, match=message):
        client.run()
    assert Client.connect(line, clock=line.clock).describe().name == "fake"


REFUSED = [
    (Call.READ_OUTPUT, bytes(12), Status.NO_OUTPUT, "no run has completed since the inputs were written"),
    (Call.READ_OUTPUT, bytes(11), Status.BAD_LENGTH, "the request has the wrong size"),
    (Call.READ_OUTPUT, b"\2" + bytes(11), Status.BAD_INDEX, "the model has no such input or output"),
    (Call.WRITE_INPUT, bytes(7), Status.BAD_LENGTH, "the request has the wrong size"),
    (Call.WRITE_INPUT, b"\1" + bytes(14), Status.OUT_OF_RANGE, "it reaches past the end"),
    (Call.WRITE_INPUT, bytes(4) + b"\xff" * 4 + b"x", Status.OUT_OF_RANGE, "it reaches past the end"),
    (Call.RUN, b"x", Status.BAD_LENGTH, "the request has the wrong size"),
    (Call.STEP, bytes(20), Status.OUT_OF_RANGE, "it reaches past the end"),
    (Call.STEP, b"\x09" + bytes(19), Status.NOT_SUPPORTED, "the image was built without it"),
    (Call.READ_MEMORY, bytes(8) + b"\4\0\0\0", Status.DENIED, "the board does not allow access"),
    (Call.READ_MEMORY, b"\xff" * 12, Status.OUT_OF_RANGE, "it reaches past the end"),
    (Call.LOAD_CODE, b"", Status.NOT_SUPPORTED, "the image was built without it. No image offers it yet"),
    (Call.CALL_CODE, b"", Status.NOT_SUPPORTED, "the image was built without it. No image offers it yet"),
]


@pytest.mark.parametrize(("call", "payload", "status", "text"), REFUSED)
def test_the_device_refuses_and_the_session_goes_on(
    client: Client, call: Call, payload: bytes, status: Status, text: str
) -> None:
    with pytest.raises(
        RefusedError, match=f"test-line: the device refuses '{call.words}': {text}"
    ) as refused:
        client.call(call, payload)
    assert refused.value.status == status
    assert client.describe().name == "fake"


def test_an_answer_larger_than_the_payload_is_refused(client: Client, board: Board) -> None:
    client.infer(draw_inputs(np.random.default_rng(4)))
    for call, payload in (
        (Call.READ_OUTPUT, bytes(8) + (65).to_bytes(4, "little")),
        (Call.READ_MEMORY, board.scratch.to_bytes(8, "little") + (65).to_bytes(4, "little")),
    ):
        with pytest.raises(RefusedError):
            client.call(call, payload)


def test_outputs_of_before_are_gone_once_an_input_is_written(client: Client) -> None:
    client.infer(draw_inputs(np.random.default_rng(5)))
    client.write_input(1, bytes(6))
    with pytest.raises(RefusedError, match=r"no run has completed .*\. Run the model first"):
        client.read_output(0)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (
            lambda c: c.write_input(0, bytes(299)),
            r"input 0 is 299 bytes, allowed is 300 bytes\. The device's",
        ),
        (lambda c: c.write_input(2, b""), r"the index of an input is 2, allowed is 0 to 1"),
        (lambda c: c.read_output(-1), r"the index of an output is -1, allowed is 0 to 1"),
        (lambda c: c.infer([np.zeros((2, 150), np.int8)]), r"the list of inputs is 1, allowed is 2"),
        (
            lambda c: c.infer([np.zeros((2, 150), np.float32), np.zeros(3, np.int16)]),
            r"input 0 \(image/.*\) is float32 \(2, 150\), allowed is int8 \(2, 150\)",
        ),
        (
            lambda c: c.infer([np.zeros((2, 150), np.int8), np.zeros(4, np.int16)]),
            r"input 1 \(words\) is int16 \(4,\), allowed is int16 \(3,\)",
        ),
        (lambda c: c.read_memory(-1, 4), r"the memory range is 4 bytes at -0x1, allowed is 64-bit addresses"),
    ],
)
def test_what_does_not_fit_is_not_sent(client: Client, line: DirectLine, wrong, text: str) -> None:  # type: ignore[no-untyped-def]
    client.describe()
    sent = len(line.written)
    with pytest.raises(InputError, match=f"^test-line: {text}"):
        wrong(client)
    assert len(line.written) == sent


def test_a_model_that_fails_says_so(board: Board, client: Client) -> None:
    inputs = draw_inputs(np.random.default_rng(6))
    board.faults.fail = 2
    text = r"test-line: the model failed in 'run': a pointer is missing \(td_status 2\)\. Build and flash"
    with pytest.raises(ModelFailedError, match=text) as failed:
        client.infer(inputs)
    assert failed.value.td_status == 2
    board.faults.fail = 0
    assert client.infer(inputs).count


def test_a_model_that_does_not_start_says_so(board: Board, line: DirectLine) -> None:
    board.boot(arena_bytes=10)
    client = Client.connect(line, clock=line.clock)
    assert client.device.model_status == 3
    for call in (Call.RUN, Call.WRITE_INPUT):
        text = rf"the model failed in '{call.words}': the arena is too small \(td_status 3\)"
        with pytest.raises(ModelFailedError, match=text):
            client.call(call, b"" if call is Call.RUN else bytes(8))
