"""Numbers and header that both ends agree on (docs/rpc.md); td_rpc_internal.h carries the same ones."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum, IntFlag

VERSION = 1
HEADER_BYTES = 16
MIN_PAYLOAD_BYTES = 64
MAX_PAYLOAD_BYTES = 65536

_HEADER = struct.Struct("<BBBBIQ")


class Kind(IntEnum):
    """Who sends a frame, and why. A line that echoes never turns a request into an answer."""

    REQUEST = 1
    ANSWER = 2
    WORKING = 3  # the device has begun a call that may take long


class Call(IntEnum):
    """What a request asks for; each has its own payload in `messages`."""

    HELLO = 0x01
    DESCRIBE_MODEL = 0x02
    DESCRIBE_TENSOR = 0x03
    WRITE_INPUT = 0x10
    RUN = 0x11
    READ_OUTPUT = 0x12
    STEP = 0x13
    RESET_MODEL = 0x14
    RESET_DEVICE = 0x15
    READ_MEMORY = 0x20
    WRITE_MEMORY = 0x21
    LOAD_CODE = 0x22  # reserved
    CALL_CODE = 0x23  # reserved
    SLOT_INFO = 0x30
    SLOT_PARTS = 0x31
    SLOT_SUMS = 0x32
    SLOT_BEGIN = 0x33
    SLOT_WRITE = 0x34
    SLOT_COPY = 0x35
    SLOT_COMMIT = 0x36

    @property
    def words(self) -> str:
        """The call's name in messages to the user."""
        return self.name.lower().replace("_", " ")


class Status(IntEnum):
    """How a request ended. The first four refusals, sent without executing anything, end the session."""

    DONE = 0
    NO_SESSION = 1
    OTHER_SESSION = 2
    BAD_SEQUENCE = 3
    BAD_VERSION = 4
    NOT_SUPPORTED = 5
    BAD_LENGTH = 6
    BAD_INDEX = 7
    OUT_OF_RANGE = 8
    TOO_LARGE = 9
    MODEL_FAILED = 10
    NO_OUTPUT = 11
    STEPPING = 12
    TRACE_FULL = 13
    DENIED = 14
    OTHER_ABI = 15
    OTHER_LAYOUT = 16
    OTHER_IMAGE = 17
    NO_UPDATE = 18
    OLD_COUNTER = 19
    DAMAGED = 20
    NOT_TRUSTED = 21
    FLASH_FAILED = 22


class Capability(IntFlag):
    """What an image can do beyond describing, running and reading."""

    TRACE = 1  # the model was compiled with TD_TRACE: instance CRCs, rows
    COUNT = 2  # the board has a counter
    RESET = 4  # the board can restart itself
    MEMORY = 8  # a debug image
    CODE = 16  # reserved
    UPDATE = 32  # the image holds slots for its model


class Level(IntEnum):
    """What was compiled in: `--rpc none|io|debug`."""

    NONE = 0
    IO = 1
    DEBUG = 2


class CounterUnit(IntEnum):
    """What the board's counter counts."""

    NOTHING = 0
    CYCLES = 1
    INSTRUCTIONS = 2
    TICKS = 3  # of a clock that is not the core's


class StepMode(IntEnum):
    """What a step-by-step run reports."""

    COUNTS = 0  # per step: counter difference, without tracing
    INSTANCES = 1  # per kernel instance: rows, bytes, CRC
    ROWS = 2  # the CRC of each row of one instance
    BYTES = 3  # bytes of one row of one instance


@dataclass(frozen=True, slots=True)
class Message:
    """One frame's body, request or answer. `status` is 0 in requests; `call` and `status` may be unknown."""

    kind: int
    call: int
    status: int
    sequence: int
    session: int
    payload: bytes = b""

    def encode(self) -> bytes:
        """Header and payload as they go into a frame."""
        header = _HEADER.pack(self.kind, self.call, self.status, 0, self.sequence, self.session)
        return header + self.payload

    def answers(self, request: Message) -> bool:
        """Is this an answer to `request`, or the notice that the device works on it?"""
        return (
            self.kind in (Kind.ANSWER, Kind.WORKING)
            and self.sequence == request.sequence
            and self.session == request.session
            and self.call == request.call
        )


def decode_message(body: bytes) -> Message | None:
    """The message in a frame's body; None where it is shorter than a header."""
    if len(body) < HEADER_BYTES:
        return None
    kind, call, status, _, sequence, session = _HEADER.unpack_from(body)
    return Message(kind, call, status, sequence, session, body[HEADER_BYTES:])
