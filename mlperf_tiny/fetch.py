"""The benchmarks' models into the cache: downloaded or copied, checked, resumed."""

from __future__ import annotations

import os
import shutil
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from mlperf_tiny.catalogue import LIMIT_BYTES, Bench, check
from tinydeploy.errors import TinyDeployError
from tinydeploy.resources import cache_dir

_PIECE = 1 << 16
_TIMEOUT_S = 30.0

Progress = Callable[[int, int], None]
"""Called with bytes done and bytes in all; 0 where that is not known."""


def fetch_model(
    bench: Bench, source: Path | None = None, progress: Progress = lambda _done, _total: None
) -> Path:
    """The model's path in the cache, made from ``source`` (a folder) or from the network.

    A file that is there already and right is left alone; a download that broke off goes on where it ended.
    Raises TinyDeployError where the file cannot be had, or is another one.
    """
    folder = cache_dir() / "mlperf_tiny"
    target = folder / bench.file
    if target.is_file():
        check(bench, target)
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
        part = folder / f"{bench.file}.part"
        if source is not None:
            _copy(bench, source, part)
        else:
            _download(bench, part, progress)
    except OSError as error:
        raise TinyDeployError(
            f"cannot write: {error.strerror or error}", where=str(folder), fix="Set TINYDEPLOY_CACHE"
        ) from None
    try:
        check(bench, part)
    except TinyDeployError:
        part.unlink()
        raise
    os.replace(part, target)
    return target


def _copy(bench: Bench, source: Path, part: Path) -> None:
    """From a folder that holds the file itself, or a checkout of the benchmark's repository."""
    inside = bench.url.partition("/benchmark/")[2]
    for path in (source / bench.file, source / "benchmark" / inside):
        if path.is_file():
            shutil.copyfile(path, part)
            return
    raise TinyDeployError(
        f"does not hold {bench.file}",
        where=str(source),
        fix="Give the folder of the models, or a checkout of mlcommons/tiny",
    )


def _download(bench: Bench, part: Path, progress: Progress) -> None:
    done = part.stat().st_size if part.is_file() else 0
    request = urllib.request.Request(bench.url, headers={"Range": f"bytes={done}-"} if done else {})
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
            resumed = answer.status == 206
            done = done if resumed else 0
            total = done + int(answer.headers.get("Content-Length") or 0)
            with part.open("ab" if resumed else "wb") as stream:
                while piece := answer.read(_PIECE):
                    done += len(piece)
                    if done > LIMIT_BYTES:
                        raise TinyDeployError(f"is larger than {LIMIT_BYTES} bytes", where=bench.url)
                    stream.write(piece)
                    progress(done, total)
    except urllib.error.HTTPError as error:
        if error.code == 416:  # what is there is already all of it
            return
        raise _unreachable(bench, f"the server answers {error.code}") from None
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        raise _unreachable(bench, str(getattr(error, "reason", error))) from None


def _unreachable(bench: Bench, reason: str) -> TinyDeployError:
    return TinyDeployError(
        f"cannot be downloaded: {reason}",
        where=bench.url,
        fix="Try again, or give a local copy with --from DIR",
    )
