"""The benchmarks as data: files, hashes, inputs, what counts as passed."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from enum import Enum
from functools import cache
from importlib.resources import files
from pathlib import Path

from tinydeploy.errors import TinyDeployError
from tinydeploy.resources import cache_dir

LIMIT_BYTES = 16 << 20
"""Far above any model of the benchmark."""


class InputKind(Enum):
    """How a file of the data set becomes the model's input; the value is the harness's macro."""

    STEPS = "steps"
    PIXELS = "pixels"
    FLOATS = "floats"


class ResultKind(Enum):
    """What the device answers: every output as a real number, or one error."""

    SCORES = "scores"
    ERROR = "error"


class Metric(Enum):
    """How answers become a result."""

    TOP1 = "top1"
    AUC = "auc"
    DETECTIONS = "detections"


@dataclass(frozen=True, slots=True)
class Bench:
    """One benchmark. ``tree`` is its folder in a submission, ``dataset`` the one of its inputs."""

    id: str
    title: str
    file: str
    url: str
    md5: str
    sha256: str
    input: InputKind
    result: ResultKind
    metric: Metric
    threshold: float
    samples: int
    tree: str
    dataset: str
    labels: tuple[str, ...]


@cache
def catalogue() -> tuple[Bench, ...]:
    """Every benchmark of rules v1.4, in their order."""
    data = tomllib.loads(files("mlperf_tiny").joinpath("catalogue.toml").read_text(encoding="utf-8"))
    return tuple(
        Bench(
            id=entry["id"],
            title=entry["title"],
            file=entry["file"],
            url=data["base"] + entry["path"],
            md5=entry["md5"],
            sha256=entry["sha256"],
            input=InputKind(entry["input"]),
            result=ResultKind(entry["result"]),
            metric=Metric(entry["metric"]),
            threshold=float(entry["threshold"]),
            samples=entry["samples"],
            tree=entry["tree"],
            dataset=entry.get("dataset", entry["id"]),
            labels=tuple(entry["labels"]),
        )
        for entry in data["bench"]
    )


def bench_of(name: str) -> Bench:
    """The benchmark of an id, or of its beginning (``kws``). Raises TinyDeployError that lists them."""
    known = catalogue()
    for bench in known:
        if bench.id == name:
            return bench
    found = [bench for bench in known if bench.id.startswith(name)]
    if len(found) == 1:
        return found[0]
    raise TinyDeployError(
        f"there is no benchmark {name!r}",
        where="--bench",
        fix=f"Give one of {', '.join(bench.id for bench in known)}",
    )


def model_path(bench: Bench, folder: Path | None) -> Path:
    """The model's file in ``folder``, or in the cache where that is None, its hash checked.

    Raises TinyDeployError where it is missing or another file.
    """
    path = (folder if folder is not None else cache_dir() / "mlperf_tiny") / bench.file
    if not path.is_file():
        raise TinyDeployError(
            f"the model of {bench.id} is not there", where=str(path), fix="Run: tinydeploy mlperf fetch"
        )
    check(bench, path)
    return path


def check(bench: Bench, path: Path) -> None:
    """Raise TinyDeployError unless a file is the benchmark's model."""
    if path.stat().st_size > LIMIT_BYTES or hashlib.sha256(path.read_bytes()).hexdigest() != bench.sha256:
        raise TinyDeployError(
            f"is not the model of {bench.id}: its SHA-256 is not {bench.sha256[:16]}...",
            where=str(path),
            fix="Remove the file, then run: tinydeploy mlperf fetch",
        )
