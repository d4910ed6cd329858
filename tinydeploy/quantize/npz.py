"""Arrays in files, row by row: .npy mapped into memory, .npz members read as a stream, .bin as they are."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from tinydeploy.errors import TinyDeployError
from tinydeploy.ir import Array

_SUFFIX = ".npy"


@dataclass(frozen=True, slots=True)
class Member:
    """One array of an .npz file."""

    path: Path
    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]

    def rows(self, size: tuple[int, ...], count: int) -> Iterator[Array]:
        """The array as ``count`` rows of shape ``size``, read one after the other."""
        row_bytes = int(np.prod(size)) * self.dtype.itemsize
        with zipfile.ZipFile(self.path) as archive, archive.open(self.name + _SUFFIX) as stream:
            _header(stream, self.path, self.name)
            for _ in range(count):
                data = stream.read(row_bytes)
                if len(data) != row_bytes:
                    raise TinyDeployError(
                        f"the array {self.name!r} ends early",
                        where=str(self.path),
                        fix="Store the file again",
                    )
                yield np.frombuffer(data, self.dtype).reshape(size)


def members(path: Path) -> tuple[Member, ...]:
    """The arrays of an .npz file, in its order; only headers are read.

    Raises TinyDeployError where the file is none, or holds pickled objects.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            found = []
            for entry in archive.namelist():
                if entry.endswith(_SUFFIX):
                    with archive.open(entry) as stream:
                        name = entry.removesuffix(_SUFFIX)
                        found.append(Member(path, name, *_header(stream, path, name)))
    except (OSError, zipfile.BadZipFile, ValueError, EOFError) as error:
        raise _unreadable(path, "an .npz file", error) from None
    return tuple(found)


def _header(stream: IO[bytes], path: Path, name: str) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
    version = np.lib.format.read_magic(stream)
    reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, columns_first, dtype = reader(stream)
    if dtype.hasobject:
        raise TinyDeployError(
            f"the array {name!r} holds Python objects", where=str(path), fix="Store plain numbers"
        )
    if columns_first and len(shape) > 1:
        raise TinyDeployError(
            f"the array {name!r} is stored column by column",
            where=str(path),
            fix="Store it with numpy.ascontiguousarray",
        )
    return shape, dtype


def mapped(path: Path) -> Array:
    """The array of an .npy file, mapped into memory.

    Raises TinyDeployError where the file is none, or holds pickled objects.
    """
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (OSError, ValueError, EOFError) as error:
        raise _unreadable(path, "an .npy file", error) from None


def raw(path: Path, dtype: np.dtype[np.generic], shape: tuple[int, ...]) -> Array:
    """The array of a file that holds nothing but its bytes.

    Raises TinyDeployError where the file cannot be read or has another size.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise _unreadable(path, "a file", error) from None
    wanted = int(np.prod(shape)) * dtype.itemsize
    if len(data) != wanted:
        raise TinyDeployError(
            f"has {len(data)} bytes, a sample of {dtype}{list(shape)} has {wanted}",
            where=str(path),
            fix="Say the type of the files with --data-type",
        )
    return np.frombuffer(data, dtype.newbyteorder("<")).reshape(shape)


def _unreadable(path: Path, kind: str, error: Exception) -> TinyDeployError:
    reason = getattr(error, "strerror", None) or str(error).splitlines()[0]
    return TinyDeployError(f"cannot be read as {kind}: {reason}", where=str(path), fix="Check the file")
