"""A tree of files to a folder: everything is there, or nothing has changed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path, PurePosixPath

from tinydeploy.errors import TinyDeployError
from tinydeploy.export.project import Tree


def write_tree(tree: Tree, folder: Path) -> None:
    """Write all files below ``folder``, which is made where it is missing; other files in it stay.

    Everything is written beside its place first, so that a full disk or a folder without permission leaves
    what was there before. Raises TinyDeployError that names the file in the way.
    """
    for path in tree:
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise ValueError(f"{path!r} leaves the tree")
    made: list[Path] = []
    try:
        _make_folder(folder, made)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".tinydeploy-") as temporary:
            for path, content in tree.items():
                place = Path(temporary, path)
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
            _check_places(tree, folder)
            for path in tree:
                _make_folder((folder / path).parent, made)
            for path in tree:
                os.replace(Path(temporary, path), folder / path)
    except OSError as error:
        for empty in reversed(made):
            _remove_if_empty(empty)
        raise TinyDeployError(
            f"cannot write: {error.strerror}", where=str(error.filename or folder), fix="Choose another -o"
        ) from None


def _check_places(tree: Tree, folder: Path) -> None:
    """Find what cannot be replaced before anything is: a folder where a file belongs."""
    for path in tree:
        if (folder / path).is_dir():
            raise IsADirectoryError(21, "a folder is in the way", str(folder / path))
        if not os.access(_existing(folder / path), os.W_OK):
            raise PermissionError(13, "Permission denied", str(_existing(folder / path)))


def _existing(path: Path) -> Path:
    """The nearest folder above a path that exists: the one that takes new entries."""
    return next(parent for parent in path.parents if parent.exists())


def _make_folder(folder: Path, made: list[Path]) -> None:
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    there = _existing(missing[-1]) if missing else folder
    if not there.is_dir():
        raise NotADirectoryError(20, "Not a directory", str(there))
    for path in reversed(missing):
        path.mkdir()
        made.append(path)


def _remove_if_empty(folder: Path) -> None:
    try:
        folder.rmdir()
    except OSError:
        return
