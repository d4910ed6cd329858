"""The host's end of the benchmark's serial protocol: commands to a device under test, answers checked.

The protocol has no checksums. What was loaded is read back, results are asked for twice, and whatever does
not fit is tried again, so that a bad line costs time, never a wrong result.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from tinydeploy.errors import DeviceError
from tinydeploy.rpc.transport import Transport

BYTES_PER_COMMAND = 31
COMMANDS_AT_ONCE = 8
"""Commands of bytes that are sent before the first answer is awaited: far below any device's ring."""

READY = "m-ready"
_LINE_LIMIT = 1 << 16
_T = TypeVar("_T")


class Mode(Enum):
    """How the firmware tells times."""

    PERFORMANCE = "performance"
    ENERGY = "energy"


@dataclass(frozen=True, slots=True)
class Timeouts:
    """Seconds of silence after which an answer counts as lost, and how often to try."""

    answer_s: float = 2.0
    infer_s: float = 60.0
    tries: int = 8


@dataclass(frozen=True, slots=True)
class Inference:
    """An answer to ``infer``: the last run's results, and the time of all runs where it is told."""

    results: tuple[float, ...]
    elapsed_us: int | None


class BadAnswerError(Exception):
    """An answer is incomplete or damaged; the command may be sent again."""


class Dut:
    """A device that speaks the protocol, behind any line. ``name`` and ``benchmark`` are its own words."""

    def __init__(
        self,
        line: Transport,
        *,
        timeouts: Timeouts | None = None,
        log: Callable[[str], None] | None = None,
        trust_line: bool = False,
    ) -> None:
        self.retries = 0
        self._line = line
        self._timeouts = timeouts or Timeouts()
        self._log = log or (lambda _text: None)
        self._trust = trust_line
        self._received = bytearray()
        self._clear()
        self.name = self._tried("name", self._read_name)
        self.benchmark = self._tried("profile", self._read_benchmark)
        self.mode = self._tried("timestamp", self._read_mode)

    def load(self, data: bytes) -> None:
        """Send an input and, unless the line is trusted, compare what has arrived."""
        self._tried("db", lambda: self._load(data))

    def infer(self, runs: int, warm_ups: int) -> Inference:
        """Run on what was loaded. Raises DeviceError where no sound answer comes."""
        return self._tried("infer", lambda: self._infer(runs, warm_ups))

    def ask(self, command: str, *, tries: int | None = None) -> list[str]:
        """The lines of the answer to any command, without the last. Raises DeviceError where none comes."""
        return self._tried(command, lambda: self._command(command, self._timeouts.infer_s), tries)

    def expect(self, benchmark: str, mode: Mode) -> None:
        """Raise DeviceError where the device runs another benchmark, or firmware of another mode."""
        if self.benchmark != benchmark:
            raise DeviceError(
                f"the device runs {self.benchmark}, asked for was {benchmark}",
                where=self._line.name,
                fix="Flash the firmware of this benchmark",
            )
        if self.mode is not mode:
            raise DeviceError(
                f"the firmware is built for {self.mode.value} mode, needed is {mode.value} mode",
                where=self._line.name,
                fix=f"Build and flash it with --mode {mode.value}",
            )

    def _tried(self, what: str, attempt: Callable[[], _T], tries: int | None = None) -> _T:
        """The result of an attempt that may fail on a bad line; the line is cleared between tries."""
        reason, most = "", tries or self._timeouts.tries
        for number in range(most):
            if number:
                self._clear()
            try:
                return attempt()
            except BadAnswerError as error:
                reason = str(error)
                self.retries += 1
        raise DeviceError(
            f"no sound answer to {what!r} after {most} tries: {reason}",
            where=self._line.name,
            fix="Check port, baud rate and cable; energy firmware talks at 9600 baud",
        )

    def _clear(self) -> None:
        """End a half-received command, and drop whatever the device still says."""
        self._received.clear()
        self._line.write(b"%")
        quiet_s = 0.05 if self._line.seconds_per_byte == 0.0 else 0.25
        deadline = time.monotonic() + self._timeouts.answer_s
        while time.monotonic() < deadline and self._line.read(quiet_s):
            pass

    def _command(self, command: str, timeout_s: float | None = None) -> list[str]:
        self._send(command)
        return self._answer(timeout_s or self._timeouts.answer_s)

    def _send(self, *commands: str) -> None:
        for command in commands:
            self._log(f"{command}%")
        self._line.write("".join(f"{command}%" for command in commands).encode("ascii"))

    def _answer(self, timeout_s: float) -> list[str]:
        """The lines of an answer, without the last one that says ready."""
        lines: list[str] = []
        while True:
            line = self._read_line(timeout_s)
            if line.endswith(READY):
                return lines
            lines.append(line)

    def _read_line(self, timeout_s: float) -> str:
        while b"\n" not in self._received:
            piece = self._line.read(timeout_s)
            if not piece:
                raise BadAnswerError("the device is silent")
            self._received += piece
            if len(self._received) > _LINE_LIMIT and b"\n" not in self._received:
                raise BadAnswerError("the device sends no ends of lines")
        line, _, rest = bytes(self._received).partition(b"\n")
        self._received[:] = rest
        text = line.decode("ascii", errors="replace").strip("\r\0 ")
        self._log(text)
        return text

    def _read_name(self) -> str:
        return self._found(self._command("name"), r"m-name-dut-\[([^\]]+)\]")

    def _read_benchmark(self) -> str:
        return self._found(self._command("profile"), r"m-model-\[(\w+)\]")

    def _read_mode(self) -> Mode:
        lines = self._command("timestamp")
        if not lines:
            return Mode.ENERGY
        self._found(lines, r"m-lap-us-(\d+)")
        return Mode.PERFORMANCE

    def _found(self, lines: list[str], pattern: str) -> str:
        matches = [match for line in lines if (match := re.fullmatch(pattern, line))]
        if len(matches) != 1:
            raise BadAnswerError(f"{lines[:3]!r:.120}")
        return matches[0][1]

    def _load(self, data: bytes) -> None:
        if self._command(f"db load {len(data)}") != [f"m-[Expecting {len(data)} bytes]"]:
            raise BadAnswerError("'db load' is not confirmed")
        starts = range(0, len(data), BYTES_PER_COMMAND)
        for first in range(0, len(starts), COMMANDS_AT_ONCE):
            batch = starts[first : first + COMMANDS_AT_ONCE]
            self._send(*(f"db {data[start : start + BYTES_PER_COMMAND].hex()}" for start in batch))
            for start in batch:
                last = start + BYTES_PER_COMMAND >= len(data)
                if self._answer(self._timeouts.answer_s) != (["m-load-done"] if last else []):
                    raise BadAnswerError(f"the bytes from {start} on are not confirmed")
        if not self._trust and self._stored() != data:
            raise BadAnswerError("the device holds other bytes than were sent")

    def _stored(self) -> bytes:
        digits = "".join(line.removeprefix("m-buffer-") for line in self._command("db print"))
        try:
            return bytes.fromhex(digits.replace("-", ""))
        except ValueError:
            raise BadAnswerError("'db print' is damaged") from None

    def _infer(self, runs: int, warm_ups: int) -> Inference:
        lines = self._command(f"infer {runs} {warm_ups}", self._timeouts.infer_s)
        needed = (f"m-warmup-start-{warm_ups}", "m-warmup-done", f"m-infer-start-{runs}", "m-infer-done")
        if any(lines.count(line) != 1 for line in needed):
            raise BadAnswerError(f"{lines[:3]!r:.120}")
        results = _results(lines)
        if not self._trust and _results(self._command("results")) != results:
            raise BadAnswerError("two reports of the results differ")
        if self.mode is Mode.ENERGY:
            return Inference(results, None)
        laps = [int(match[1]) for line in lines if (match := re.fullmatch(r"m-lap-us-(\d+)", line))]
        if len(laps) != 2 or laps[1] < laps[0]:
            raise BadAnswerError(f"laps of {laps} microseconds")
        if not self._trust and self._command("laps") != [f"m-laps-[{laps[0]},{laps[1]}]"]:
            raise BadAnswerError("two reports of the times differ")
        return Inference(results, laps[1] - laps[0])


def _results(lines: list[str]) -> tuple[float, ...]:
    found = [match for line in lines if (match := re.fullmatch(r"m-results-\[([-0-9.,]+)\]", line))]
    try:
        (match,) = found
        return tuple(float(text) for text in match[1].split(","))
    except ValueError:
        raise BadAnswerError("the results are missing or damaged") from None
