"""The official data sets as they lie in a folder: ``DIR/kws01/y_labels.csv`` and one file per input."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mlperf_tiny.catalogue import Bench
from tinydeploy.errors import TinyDeployError

TRUTH_FILE = "y_labels.csv"


@dataclass(frozen=True, slots=True)
class Entry:
    """A file of a data set with its class. ``window_bytes`` and ``stride_bytes`` cut it into inputs, where
    the data set says so."""

    path: Path
    label: int
    window_bytes: int | None = None
    stride_bytes: int | None = None

    def inputs(self) -> Iterator[bytes]:
        """The inputs of the file: all of it, or its windows."""
        data = self.path.read_bytes()
        if self.window_bytes is None or self.stride_bytes is None:
            yield data
            return
        for start in range(0, len(data) - self.window_bytes + 1, self.stride_bytes):
            yield data[start : start + self.window_bytes]


def read_dataset(bench: Bench, folder: Path, samples: int | None = None) -> tuple[Entry, ...]:
    """The first ``samples`` entries of a benchmark's data set, or all, every file there.

    Raises TinyDeployError that names the line or the files at fault.
    """
    base = folder / bench.dataset
    truth = base / TRUTH_FILE
    if not truth.is_file():
        raise TinyDeployError(
            f"there is no data set of {bench.id}",
            where=str(truth),
            fix="Give with --data the folder that the official runner takes as --dataset_path",
        )
    entries: list[Entry] = []
    with truth.open(newline="", encoding="utf-8") as stream:
        for number, row in enumerate(csv.reader(stream), 1):
            if row:
                entries.append(_entry(base, row, bench, f"{truth}:{number}"))
    chosen = tuple(entries[:samples])
    missing = [entry.path.name for entry in chosen if not entry.path.is_file()]
    if missing:
        shown = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        raise TinyDeployError(
            f"{len(missing)} of {len(chosen)} files of {bench.id} are missing: {shown}",
            where=str(base),
            fix="Make them as the benchmark's training folder describes, or give --samples",
        )
    if not chosen:
        raise TinyDeployError("the data set is empty", where=str(truth))
    return chosen


def _entry(base: Path, row: list[str], bench: Bench, where: str) -> Entry:
    try:
        name, label = row[0].strip(), int(row[2])
        window, stride = (int(row[3]), int(row[4])) if len(row) >= 5 else (None, None)
    except (IndexError, ValueError):
        raise TinyDeployError(
            f"is not FILE,CLASSES,CLASS[,BYTES,STRIDE]: {','.join(row)!r:.80}", where=where
        ) from None
    if Path(name).name != name or not name:
        raise TinyDeployError(f"is not a file name: {name!r:.80}", where=where)
    if not 0 <= label < len(bench.labels) or (window is not None and (window <= 0 or (stride or 0) <= 0)):
        raise TinyDeployError(f"has numbers out of range: {','.join(row)!r:.80}", where=where)
    return Entry(base / name, label, window, stride)
