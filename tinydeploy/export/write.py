"""A tree of files to a folder: everything is there, or nothing has changed."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from tinydeploy.export.project import Tree
from tinydeploy.staging import staged


def write_tree(tree: Tree, folder: Path) -> None:
    """Write all files below ``folder``, which is made where it is missing; other files in it stay.

    Raises TinyDeployError that names the file in the way.
    """
    for path in tree:
        if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
            raise ValueError(f"{path!r} leaves the tree")
    with staged(folder) as work:
        for path, content in tree.items():
            place = work / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
