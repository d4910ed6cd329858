"""Accuracy mode: every input of a data set through one or more devices, one figure at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Event
from typing import Any

import numpy as np

from mlperf_tiny.catalogue import Bench, Metric, ResultKind
from mlperf_tiny.dataset import Entry
from mlperf_tiny.dut import Dut, Mode
from mlperf_tiny.metrics import auc, auc_one_vs_rest, top1
from mlperf_tiny.session import Session

OpenDut = Callable[[Callable[[str], None]], AbstractContextManager[Dut]]
"""Opens a device; the argument takes the lines that pass."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """The result of a benchmark's accuracy mode. ``retries`` counts answers that were asked for again."""

    bench: Bench
    samples: int
    right: int | None
    value: float
    retries: int

    @property
    def complete(self) -> bool:
        """Whether the whole official data set was used."""
        return self.samples == self.bench.samples

    @property
    def passed(self) -> bool:
        return self.value >= self.bench.threshold

    def as_json(self) -> dict[str, object]:
        found: dict[str, object] = {
            "bench": self.bench.id,
            self.bench.metric.value: round(self.value, 4),
            "samples": self.samples,
            "complete": self.complete,
            "threshold": self.bench.threshold,
            "passed": self.passed,
            "retries": self.retries,
        }
        if self.right is not None:
            found["right"] = self.right
        return found


def run_accuracy(
    bench: Bench,
    entries: Sequence[Entry],
    devices: Sequence[OpenDut],
    session: Session,
    progress: Callable[[int], None] = lambda _done: None,
) -> Accuracy:
    """Run every entry that the session has not yet; the devices share the work.

    Raises DeviceError where a device runs something else or its line is too bad; what was answered stays in
    the session.
    """
    done = session.answers
    waiting: SimpleQueue[int] = SimpleQueue()
    for number in range(len(entries)):
        if number not in done:
            waiting.put(number)
    stop = Event()
    finished = [len(entries) - waiting.qsize()]
    progress(finished[0])

    def work(open_dut: OpenDut) -> int:
        with open_dut(session.log) as dut:
            dut.expect(bench.id, Mode.PERFORMANCE)
            while not stop.is_set():
                try:
                    number = waiting.get_nowait()
                except Empty:
                    break
                session.record(number, _answer(dut, entries[number], session.log))
                finished[0] += 1
                progress(finished[0])
            return dut.retries

    with ThreadPoolExecutor(max_workers=len(devices)) as pool:
        futures = [pool.submit(work, device) for device in devices]
        try:
            retries = sum(future.result() for future in futures)
        finally:
            stop.set()
    return _summary(bench, entries, session, retries)


def _answer(dut: Dut, entry: Entry, log: Callable[[str], None]) -> dict[str, Any]:
    """The results of each input of a file."""
    results = []
    for data in entry.inputs():
        log(f"Loading file {entry.path.name}")
        dut.load(data)
        results.append(list(dut.infer(1, 0).results))
    return {"file": entry.path.name, "class": entry.label, "results": results}


def _summary(bench: Bench, entries: Sequence[Entry], session: Session, retries: int) -> Accuracy:
    answers = [session.answers[number] for number in range(len(entries))]
    labels = [entry.label for entry in entries]
    scores = [np.mean(answer["results"], axis=0) for answer in answers]
    right: int | None = None
    if bench.result is ResultKind.ERROR:
        value = auc([float(row[0]) for row in scores], labels) if len(set(labels)) > 1 else 0.0
        lines = [f"AUC = {value:.3f}"]
    else:
        value = top1(scores, labels)
        right = round(value * len(labels))
        lines = [f"Top 1% = {100 * value:2.1f}"]
        if len(set(labels)) > 1:
            lines.append(f"AUC = {auc_one_vs_rest(scores, labels):.3f}")
    assert bench.metric in (Metric.TOP1, Metric.AUC)
    session.finish(lines, [record for answer in answers for record in _official(answer)])
    return Accuracy(bench, len(entries), right, value, retries)


def _official(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """An answer as the official runner's results.json holds it."""
    return [
        {
            "file": answer["file"],
            "class": str(answer["class"]),
            "infer": {"results": results, "iterations": 1, "warmups": 0, "total_inferences": 1},
            "mode": "a",
        }
        for results in answer["results"]
    ]
