"""One session with a device: requests go out until their answer is in, and none is executed twice.

Stop and wait: at most one request is under way. Its sequence number is one more than the last one's; the
device answers a repeated number from memory. A failure with an unknown effect on the device ends the session.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tinydeploy.errors import DeviceError
from tinydeploy.rpc.errors import (
    BadAnswerError,
    ModelFailedError,
    NoAnswerError,
    ProtocolVersionError,
    RefusedError,
    SessionLostError,
)
from tinydeploy.rpc.frame import FrameDecoder, encode_frame
from tinydeploy.rpc.protocol import (
    HEADER_BYTES,
    MAX_PAYLOAD_BYTES,
    Call,
    Kind,
    Message,
    Status,
    decode_message,
)
from tinydeploy.rpc.transport import Transport


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How long to wait, in seconds of the link's clock.

    `call_s`: for an answer, or the notice that the device works on one. `run_s`: after that notice. A request
    is repeated after `retransmit_s`, then after twice as long each time, at most `retransmit_max_s`. After
    the notice it is repeated every `working_s`: receiving it costs the device instructions that a run counts.
    """

    call_s: float = 10.0
    run_s: float = 600.0
    retransmit_s: float = 0.5
    retransmit_max_s: float = 4.0
    working_s: float = 10.0


class Link:
    """The session over `transport`. `session` is its 64-bit number, drawn at random unless given."""

    def __init__(
        self,
        transport: Transport,
        timeouts: Timeouts,
        clock: Callable[[], float],
        session: int | None = None,
    ) -> None:
        self.transport = transport
        self.where = transport.name
        self._timeouts = timeouts
        self._clock = clock
        self._session = session or secrets.randbelow(2**64 - 1) + 1
        self._sequence = 0
        self._decoder = FrameDecoder(HEADER_BYTES + MAX_PAYLOAD_BYTES)
        self._ended = ""

    def exchange(self, call: Call, payload: bytes, answer_bytes: int = 0) -> bytes:
        """The payload of the device's answer. `answer_bytes` is what it may hold, for slow lines.

        Raises RefusedError, ModelFailedError and BadAnswerError, after which the session goes on;
        LineClosedError, NoAnswerError, SessionLostError and ProtocolVersionError, after which it is over.
        """
        if self._ended:
            raise SessionLostError(self.where, f"an earlier call ended the session: {self._ended}")
        request = Message(Kind.REQUEST, call, 0, self._sequence, self._session, payload)
        try:
            answer = self._answer_to(request, call, answer_bytes)
            self._sequence += 1
            self._check_session(answer, call)
        except DeviceError as error:
            self._ended = error.what
            raise
        except BaseException:
            self._ended = "it was interrupted"
            raise
        if answer.status == Status.MODEL_FAILED:
            if len(answer.payload) != 4:
                raise BadAnswerError(self.where, call, f"has {len(answer.payload)} bytes instead of 4")
            raise ModelFailedError(self.where, call, int.from_bytes(answer.payload, "little"))
        if answer.status not in (Status.DONE, Status.NO_SESSION):
            raise RefusedError(self.where, call, answer.status)
        return answer.payload

    def end(self, reason: str) -> None:
        """Makes every later call fail with `reason`."""
        self._ended = self._ended or reason

    def _check_session(self, answer: Message, call: Call) -> None:
        """Raises where the device no longer holds this session; a device told to reset no longer should."""
        if answer.status == Status.NO_SESSION and call is not Call.RESET_DEVICE:
            what = f"the device was reset before '{call.words}' was answered"
            raise SessionLostError(self.where, what)
        if answer.status == Status.BAD_SEQUENCE:
            raise SessionLostError(self.where, f"the device lost count of the calls at '{call.words}'")
        if answer.status == Status.OTHER_SESSION:
            what = f"the device serves another program's session and refuses '{call.words}'"
            raise SessionLostError(self.where, what)
        if answer.status == Status.BAD_VERSION:
            raise ProtocolVersionError(self.where, int.from_bytes(answer.payload[:4], "little"))

    def _answer_to(self, request: Message, call: Call, answer_bytes: int) -> Message:
        frame = encode_frame(request.encode())
        times = self._timeouts
        on_the_line_s = (len(frame) + HEADER_BYTES + answer_bytes) * self.transport.seconds_per_byte
        pause_s = times.retransmit_s
        started = resend_at = self._clock()
        deadline = started + times.call_s + on_the_line_s
        is_working = False
        attempts = 0
        while (now := self._clock()) < deadline:
            if now >= resend_at:
                self.transport.write(frame)
                attempts += 1
                resend_at = self._clock() + pause_s + on_the_line_s
                pause_s = pause_s if is_working else min(2 * pause_s, times.retransmit_max_s)
            for message in self._receive(min(resend_at, deadline) - self._clock()):
                if not message.answers(request):
                    continue
                if message.kind == Kind.ANSWER:
                    return message
                if not is_working:
                    is_working = True
                    pause_s = times.working_s
                    resend_at = self._clock() + pause_s + on_the_line_s
                    deadline = self._clock() + times.run_s
        raise NoAnswerError(self.where, call, self._clock() - started, attempts)

    def _receive(self, timeout_s: float) -> Iterator[Message]:
        """The messages that the next bytes to arrive complete."""
        received = self.transport.read(max(timeout_s, 0.0))
        for body in self._decoder.feed(received):
            message = decode_message(body)
            if message is not None:
                yield message
