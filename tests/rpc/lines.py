"""Lines of the tests, each on a clock of its own: perfect, cut, scripted or faulty."""

from __future__ import annotations

import heapq
from collections.abc import Callable

from tests.rpc.device_board import Board
from tests.rpc.faults import Faults, Rates
from tinydeploy.rpc.errors import LineClosedError
from tinydeploy.rpc.frame import FrameDecoder, encode_frame
from tinydeploy.rpc.protocol import Kind, Message, decode_message

LATENCY_S = 0.001


class Line:
    """A transport without a far end. Time passes only while somebody waits."""

    seconds_per_byte = 0.0

    def __init__(self, name: str = "test-line") -> None:
        self.name = name
        self.now = 0.0
        self.is_closed = False

    def clock(self) -> float:
        """Seconds since the line was made."""
        return self.now

    def write(self, data: bytes) -> None:
        """Loses it."""

    def read(self, timeout_s: float) -> bytes:
        """Waits in vain."""
        self.now += timeout_s
        return b""

    def close(self) -> None:
        self.is_closed = True


class DirectLine(Line):
    """Everything arrives at once. Keeps the requests' frames in `written`."""

    def __init__(self, board: Board) -> None:
        super().__init__()
        self.board = board
        self.written: list[bytes] = []
        self._waiting = b""

    def write(self, data: bytes) -> None:
        self.written.append(data)
        self.board.receive(data)
        self._waiting += self.board.poll()

    def read(self, timeout_s: float) -> bytes:
        received, self._waiting = self._waiting, b""
        if not received:
            self.now += timeout_s
        return received


class CutLine(DirectLine):
    """Closes after `left` bytes, of both directions together."""

    def __init__(self, board: Board, left: int) -> None:
        super().__init__(board)
        self.left = left

    def write(self, data: bytes) -> None:
        super().write(self._pass(data))
        self._check()

    def read(self, timeout_s: float) -> bytes:
        self._check()
        return self._pass(super().read(timeout_s))

    def _pass(self, data: bytes) -> bytes:
        allowed = data[: self.left]
        self.left -= len(allowed)
        return allowed

    def _check(self) -> None:
        if not self.left:
            raise LineClosedError(self.name, "the peer closed it")


class ScriptedLine(Line):
    """A device that answers as `script` says: bodies for each request."""

    def __init__(self, script: Callable[[Message], list[Message]]) -> None:
        super().__init__()
        self.requests: list[Message] = []
        self._script = script
        self._decoder = FrameDecoder(70000)
        self._waiting = b""

    def write(self, data: bytes) -> None:
        for body in self._decoder.feed(data):
            request = decode_message(body)
            assert request is not None
            self.requests.append(request)
            for answer in self._script(request):
                self._waiting += encode_frame(answer.encode())

    def read(self, timeout_s: float) -> bytes:
        received, self._waiting = self._waiting, b""
        if not received:
            self.now += timeout_s
        return received


class FaultyLine(Line):
    """Drops, repeats, damages, delays and reorders frames both ways and restarts the board, by a seed.

    A run takes the board `run_s`; what arrives meanwhile waits in its ring, which holds one frame.
    `frames` counts what either end sent.
    """

    def __init__(self, board: Board, seed: int, rates: Rates | None = None, run_s: float = 0.3) -> None:
        super().__init__()
        self.board = board
        self.frames = 0
        self.reboots = 0
        self._faults = Faults(seed, rates or Rates())
        self._run_s = run_s
        self._busy_until = 0.0
        self._order = 0
        self._events: list[tuple[float, int, str, bytes]] = []
        self._splitter = FrameDecoder(70000)

    def write(self, data: bytes) -> None:
        self._send("device", data, self.now)

    def read(self, timeout_s: float) -> bytes:
        end = self.now + timeout_s
        while self._events and self._events[0][0] <= end:
            at, _, target, data = heapq.heappop(self._events)
            self.now = max(self.now, at)
            if target == "host":
                return data
            self.board.receive(data)
            if self.now >= self._busy_until:
                self._run_board()
            elif target == "device":
                self._at(self._busy_until, "wake", b"")
        self.now = end
        return b""

    def _run_board(self) -> None:
        runs = self.board.runs
        sent = self.board.poll()
        has_run = self.board.runs != runs
        if has_run:
            self._busy_until = self.now + self._run_s
        is_after = False
        for body in self._splitter.feed(sent):
            self._send("host", encode_frame(body), self._busy_until if is_after else self.now)
            is_after = is_after or (has_run and body[0] == Kind.WORKING)

    def _send(self, target: str, frame: bytes, at: float) -> None:
        self.frames += 1
        if self._faults.reboots():
            self.board.boot()
            self.reboots += 1
        for late_s, damaged in self._faults.copies(frame):
            self._at(at + LATENCY_S + late_s, target, damaged)

    def _at(self, at: float, target: str, data: bytes) -> None:
        self._order += 1
        heapq.heappush(self._events, (at, self._order, target, data))
