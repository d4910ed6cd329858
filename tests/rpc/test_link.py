"""At most once: what each end does with repeated, late, foreign and lost messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.rpc.device_board import Board
from tests.rpc.lines import DirectLine, Line, ScriptedLine
from tinydeploy.errors import DeviceError
from tinydeploy.rpc import (
    Client,
    LineClosedError,
    NoAnswerError,
    ProtocolVersionError,
    SessionLostError,
    Timeouts,
)
from tinydeploy.rpc.errors import BadAnswerError
from tinydeploy.rpc.frame import FrameDecoder, encode_frame
from tinydeploy.rpc.link import Link
from tinydeploy.rpc.protocol import Call, Kind, Message, Status, decode_message

HELLO = b"\1\0\0\0"


def talk(board: Board, *requests: Message) -> list[tuple[int, int, int]]:
    """Kind, sequence and status of whatever the board sends for requests that arrive together."""
    for request in requests:
        board.receive(encode_frame(request.encode()))
    messages = [decode_message(body) for body in FrameDecoder(1000).feed(board.poll())]
    return [(m.kind, m.sequence, m.status) for m in messages if m is not None]


def request(call: Call, sequence: int, session: int = 5, payload: bytes = b"") -> Message:
    return Message(Kind.REQUEST, call, 0, sequence, session, HELLO if call is Call.HELLO else payload)


def answered(sequence: int, status: Status = Status.DONE) -> tuple[int, int, int]:
    return Kind.ANSWER, sequence, status


def working(sequence: int) -> tuple[int, int, int]:
    return Kind.WORKING, sequence, 0


# The device


def test_a_booted_device_refuses_all_but_hello(board: Board) -> None:
    assert talk(board, request(Call.RUN, 0)) == [answered(0, Status.NO_SESSION)]
    assert talk(board, request(Call.HELLO, 0)) == [answered(0)]
    assert talk(board, request(Call.RUN, 1)) == [working(1), answered(1)]


def test_requests_repeated_during_a_run_are_answered_from_memory(board: Board) -> None:
    talk(board, request(Call.HELLO, 0))
    run = request(Call.RUN, 1)
    assert talk(board, run, run, run) == [working(1), answered(1), answered(1), answered(1)]
    assert talk(board, run) == [answered(1)]
    assert board.runs == board.counter == 1


def test_a_late_copy_is_dropped_and_a_gap_is_refused(board: Board) -> None:
    talk(board, request(Call.HELLO, 0))
    talk(board, request(Call.RUN, 1))
    talk(board, request(Call.RUN, 2))
    assert talk(board, request(Call.RUN, 1), request(Call.HELLO, 0)) == []
    assert talk(board, request(Call.RUN, 4)) == [answered(4, Status.BAD_SEQUENCE)]
    assert talk(board, request(Call.RUN, 2)) == [answered(2)]
    assert board.counter == 2


def test_another_request_of_the_same_number_is_refused(board: Board) -> None:
    talk(board, request(Call.HELLO, 0))
    talk(board, request(Call.RUN, 1))
    assert talk(board, request(Call.RESET_MODEL, 1)) == [answered(1, Status.BAD_SEQUENCE)]
    assert board.counter == 1


def test_a_foreign_session_is_refused_and_leaves_the_answer_alone(board: Board) -> None:
    talk(board, request(Call.HELLO, 0))
    talk(board, request(Call.RUN, 1))
    assert talk(board, request(Call.RUN, 2, session=6)) == [answered(2, Status.OTHER_SESSION)]
    assert talk(board, request(Call.RUN, 1)) == [answered(1)]


def test_a_late_hello_of_the_session_before_does_not_end_this_one(board: Board) -> None:
    talk(board, request(Call.HELLO, 0, session=5))
    assert talk(board, request(Call.HELLO, 0, session=6)) == [answered(0)]
    assert talk(board, request(Call.HELLO, 0, session=5)) == [answered(0, Status.OTHER_SESSION)]
    assert talk(board, request(Call.RUN, 1, session=6)) == [working(1), answered(1)]


def test_sessions_begin_at_zero_and_are_not_zero(board: Board) -> None:
    assert talk(board, request(Call.HELLO, 1)) == [answered(1, Status.BAD_SEQUENCE)]
    assert talk(board, request(Call.HELLO, 0, session=0)) == [answered(0, Status.OTHER_SESSION)]
    assert talk(board, request(Call.RUN, 0, session=0)) == [answered(0, Status.NO_SESSION)]


def test_a_late_hello_does_not_revive_a_session_after_a_reset(board: Board, line: DirectLine) -> None:
    client = Client.connect(line, clock=line.clock)
    client.run()
    board.boot()
    line.write(line.written[0])
    with pytest.raises(SessionLostError, match="the device lost count of the calls at 'run'"):
        client.run()
    assert board.runs == 0


def test_another_version_is_told_and_begins_nothing(board: Board) -> None:
    hello = replace(request(Call.HELLO, 0), payload=b"\2\0\0\0")
    assert talk(board, hello) == [answered(0, Status.BAD_VERSION)]
    assert talk(board, request(Call.RUN, 1)) == [answered(1, Status.NO_SESSION)]


def test_an_answer_that_comes_back_is_not_a_request(board: Board) -> None:
    talk(board, request(Call.HELLO, 0))
    assert talk(board, replace(request(Call.RUN, 1), kind=Kind.ANSWER)) == []


def test_a_full_ring_loses_bytes_and_nothing_else(board: Board, client: Client) -> None:
    board.receive(encode_frame(request(Call.RUN, 1).encode()) * 100)
    assert board.lost
    assert client.run() == 1000
    assert board.runs == 1


# The host


def test_a_reset_device_is_noticed(board: Board, client: Client) -> None:
    client.run()
    board.boot()
    text = (
        "^test-line: the device was reset before 'run' was answered. "
        "Connect again; the model's state starts anew$"
    )
    with pytest.raises(SessionLostError, match=text):
        client.run()
    text = "^test-line: an earlier call ended the session: the device was reset before 'run' was answered. C"
    with pytest.raises(SessionLostError, match=text):
        client.describe()
    assert board.runs == 0


def test_a_second_program_is_noticed(line: DirectLine, client: Client) -> None:
    Client.connect(line, clock=line.clock)
    text = "the device serves another program's session and refuses 'run'"
    with pytest.raises(SessionLostError, match=text):
        client.run()


def test_a_silent_line_ends_in_one_message() -> None:
    line = Line()
    text = (
        r"^test-line: no answer to 'hello', sent 5 times within 10 s. "
        r"Check the port, its baud rate, and that the image was built with --rpc io$"
    )
    with pytest.raises(NoAnswerError, match=text):
        Client.connect(line, clock=line.clock)
    assert line.now == pytest.approx(10)


def test_a_device_that_falls_silent_may_have_executed(board: Board, client: Client, line: DirectLine) -> None:
    client.describe()
    line.write = lambda data: None  # type: ignore[method-assign]
    text = (
        "^test-line: no answer to 'run', sent 5 times within 10 s. "
        "Whether the device executed it is unknown. Connect again; the model's state starts anew$"
    )
    with pytest.raises(NoAnswerError, match=text):
        client.run()


def scripted(script: Callable[[Message], list[Message]]) -> Link:
    line = ScriptedLine(script)
    return Link(line, Timeouts(call_s=3, run_s=50), line.clock, session=9)


def answer(to: Message, status: int = 0, payload: bytes = b"", kind: int = Kind.ANSWER) -> Message:
    return replace(to, kind=kind, status=status, payload=payload)


def test_a_device_at_work_is_given_the_time_to_run() -> None:
    asked = 0

    def script(to: Message) -> list[Message]:
        nonlocal asked
        asked += 1
        if asked == 1:
            return [answer(to, kind=Kind.WORKING)]
        return [answer(to, payload=b"late")] if asked == 4 else []

    link = scripted(script)
    assert link.exchange(Call.RUN, b"") == b"late"
    assert isinstance(link.transport, ScriptedLine)
    assert link.transport.now == pytest.approx(30)


def test_only_the_answer_to_this_request_counts() -> None:
    def script(to: Message) -> list[Message]:
        return [
            answer(replace(to, session=8), payload=b"foreign"),
            answer(replace(to, sequence=7), payload=b"other number"),
            answer(replace(to, call=Call.STEP), payload=b"other call"),
            replace(to, payload=b"echo"),
            answer(to, payload=b"right"),
            answer(to, payload=b"second"),
        ]

    assert scripted(script).exchange(Call.RUN, b"") == b"right"


def test_every_request_has_the_next_number() -> None:
    link = scripted(lambda to: [answer(to)])
    for _ in range(3):
        link.exchange(Call.RUN, b"")
    assert isinstance(link.transport, ScriptedLine)
    assert [request.sequence for request in link.transport.requests] == [0, 1, 2]


def test_a_restart_whose_answer_was_lost_has_happened() -> None:
    assert scripted(lambda to: [answer(to, Status.NO_SESSION)]).exchange(Call.RESET_DEVICE, b"") == b""


@pytest.mark.parametrize(
    ("status", "payload", "error", "text"),
    [
        (
            Status.BAD_VERSION,
            b"\7\0\0\0",
            ProtocolVersionError,
            "the device speaks RPC version 7, this host speaks 1. Build and flash the image again with this",
        ),
        (
            Status.MODEL_FAILED,
            b"",
            BadAnswerError,
            "the answer to 'run' has 0 bytes instead of 4. Build and flash",
        ),
        (
            99,
            b"",
            DeviceError,
            "the device refuses 'run': status 99 is unknown to this host. Build and flash",
        ),
    ],
)
def test_odd_answers_are_named(status: int, payload: bytes, error: type[DeviceError], text: str) -> None:
    with pytest.raises(error, match=f"^test-line: {text}"):
        scripted(lambda to: [answer(to, status, payload)]).exchange(Call.RUN, b"")


@pytest.mark.parametrize(
    ("payload", "text"),
    [
        (b"", "has 0 bytes, fewer than 36"),
        (b"\1\0\0\0" * 9, "declares a payload of 1 bytes"),
        (b"\x40\0\0\0" * 9, "64 is not a valid Level"),
    ],
)
def test_a_hello_of_nonsense_is_named(payload: bytes, text: str) -> None:
    line = ScriptedLine(lambda to: [answer(to, payload=payload)])
    with pytest.raises(
        BadAnswerError, match=f"^test-line: the answer to 'hello' {text}. Build and flash the image"
    ):
        Client.connect(line, clock=line.clock)


def test_an_interrupted_call_ends_the_session(line: DirectLine, client: Client) -> None:
    def interrupted(timeout_s: float) -> bytes:
        raise KeyboardInterrupt

    line.read = interrupted  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        client.run()
    with pytest.raises(SessionLostError, match="an earlier call ended the session: it was interrupted"):
        client.run()


def test_a_closed_client_says_so(line: DirectLine, client: Client) -> None:
    client.close()
    assert line.is_closed
    with pytest.raises(DeviceError, match="an earlier call ended the session: this program closed the line"):
        client.run()


def test_the_message_of_a_closed_line() -> None:
    text = "COM3: the line closed (unplugged). Check the cable and the board's power, then connect again"
    assert str(LineClosedError("COM3", "unplugged")) == text
    assert str(LineClosedError("COM3")) == text.replace(" (unplugged)", "")
