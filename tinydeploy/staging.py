"""Output that is complete or not there: files are written aside and moved to their places at the end."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tinydeploy.errors import TinyDeployError

_PREFIX = ".tinydeploy-"


@contextmanager
def staged(folder: Path, *, fix: str = "Choose another -o") -> Iterator[Path]:
    """A folder to write into, whose files move to ``folder`` when the block ends; other files there stay.

    Where the block fails, ``folder`` is as it was before. An image comes last: where it is, the rest is.
    Raises TinyDeployError where the folder cannot be written, also for the block's own failures to write.
    """
    made: list[Path] = []
    try:
        _make(folder, made)
        with tempfile.TemporaryDirectory(dir=folder, prefix=_PREFIX) as temporary:
            yield Path(temporary)
            _move(Path(temporary), folder, made)
    except BaseException as error:
        for path in reversed(made):
            with suppress(OSError):
                path.rmdir()  # only where nothing is in it
        if not isinstance(error, OSError):
            raise
        where = _outside(Path(error.filename or folder))
        reason = error.strerror or error
        raise TinyDeployError(f"cannot write: {reason}", where=str(where), fix=fix) from None


def _make(folder: Path, made: list[Path]) -> None:
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    there = missing[-1].parent if missing else folder
    if not there.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(there))
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
        made.append(path)


def _move(work: Path, folder: Path, made: list[Path]) -> None:
    found = [path.relative_to(work) for path in work.rglob("*") if path.is_file()]
    files = sorted(found, key=lambda path: (len(path.parts) == 1, path.suffix == ".elf", path))
    for path in files:
        _check(folder / path)
    for path in files:
        _make((folder / path).parent, made)
    for path in files:
        os.replace(work / path, folder / path)


def _check(place: Path) -> None:
    """Find what cannot be replaced before anything is."""
    if place.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(place))
    if place.exists() and not place.is_file():  # a device, a pipe
        raise FileExistsError(errno.EEXIST, "not a regular file", str(place))
    holder = next(path for path in place.parents if path.exists())
    if holder.is_dir() and not os.access(holder, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(holder))


def _outside(path: Path) -> Path:
    """Where a file of a temporary folder was to go."""
    return Path(*(part for part in path.parts if not part.startswith(_PREFIX)))
