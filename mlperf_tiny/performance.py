"""Performance mode: five windows of at least ten seconds, the median of their throughputs."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass

from mlperf_tiny.accuracy import OpenDut
from mlperf_tiny.catalogue import Bench
from mlperf_tiny.dut import Dut, Mode
from mlperf_tiny.session import Session
from tinydeploy.errors import DeviceError

WINDOWS = 5
WINDOW_S = 10.0
LONGEST_S = 30.0
"""The official runner waits no longer for a line."""

_AIM_S = 11.0
_WARM_UPS = 5
_PROBE_US = 200_000


@dataclass(frozen=True, slots=True)
class Performance:
    """Throughput of a benchmark; ``cycles_are`` says what times are made of."""

    bench: Bench
    runs_per_window: int
    windows_s: tuple[float, ...]
    cycles_are: str

    @property
    def inferences_per_s(self) -> float:
        """The median over the windows."""
        return statistics.median(self.runs_per_window / seconds for seconds in self.windows_s)

    def as_json(self) -> dict[str, object]:
        return {
            "bench": self.bench.id,
            "inferences_per_s": round(self.inferences_per_s, 3),
            "runs_per_window": self.runs_per_window,
            "windows_s": list(self.windows_s),
            "cycles_are": self.cycles_are,
        }


def run_performance(
    bench: Bench,
    data: bytes,
    open_dut: OpenDut,
    session: Session,
    cycles_are: str,
    progress: Callable[[int], None] = lambda _done: None,
) -> Performance:
    """Choose the number of runs that fills a window, then measure the windows that the session lacks.

    Raises DeviceError where the device runs something else, or a window is too short or too long.
    """
    with open_dut(session.log) as dut:
        dut.expect(bench.id, Mode.PERFORMANCE)
        runs = _recorded_runs(session) or runs_per_window(dut, data)
        for window in range(WINDOWS):
            progress(window)
            if window in session.answers:
                continue
            dut.load(data)
            answer = dut.infer(runs, _WARM_UPS)
            seconds = (answer.elapsed_us or 0) / 1e6
            if not WINDOW_S <= seconds <= LONGEST_S:
                raise DeviceError(
                    f"a window of {runs} runs took {seconds:.3f} s, "
                    f"allowed is {WINDOW_S:g} to {LONGEST_S:g} s",
                    fix="Try again; nothing else may use the device meanwhile",
                )
            session.record(window, {"runs": runs, "seconds": seconds, "results": list(answer.results)})
    progress(WINDOWS)
    return _summary(bench, session, cycles_are)


def _recorded_runs(session: Session) -> int | None:
    return next((int(answer["runs"]) for answer in session.answers.values()), None)


def runs_per_window(dut: Dut, data: bytes) -> int:
    """Runs that take a little more than the least time of a window, by a measurement of a few."""
    dut.load(data)
    runs = 1
    while True:
        elapsed_us = dut.infer(runs, 1).elapsed_us or 0
        if elapsed_us >= _PROBE_US:
            return max(1, math.ceil(runs * _AIM_S * 1e6 / elapsed_us))
        runs *= 8


def _summary(bench: Bench, session: Session, cycles_are: str) -> Performance:
    answers = [session.answers[window] for window in range(WINDOWS)]
    runs = int(answers[0]["runs"])
    found = Performance(bench, runs, tuple(answer["seconds"] for answer in answers), cycles_are)
    lines: list[str] = []
    results = []
    for window, answer in enumerate(answers, 1):
        throughput = runs / answer["seconds"]
        lines += [
            f"Performance results for window {window}:",
            f"  # Inferences : {runs:>13}",
            f"  Runtime      : {answer['seconds']:>10.3f} sec.",
            f"  Throughput   : {throughput:>10.3f} inf./sec.",
        ]
        infer = {
            "results": answer["results"],
            "iterations": runs,
            "warmups": _WARM_UPS,
            "elapsed_time": round(answer["seconds"] * 1e6),
            "throughput": throughput,
        }
        results.append({"infer": infer, "mode": "p"})
    rule = "-" * 57
    lines += [rule, f"Median throughput is {found.inferences_per_s:>10.3f} inf./sec.", rule]
    session.finish(lines, results)
    return found
