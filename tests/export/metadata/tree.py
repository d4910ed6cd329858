"""What every exported tree keeps to, whatever the format."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

Tree = Mapping[str, str | bytes]


def text_of(tree: Tree, path: str) -> str:
    """A file as text; empty where it is missing."""
    content = tree.get(path, "")
    return content if isinstance(content, str) else content.decode("utf-8")


def path_faults(tree: Tree) -> Iterator[str]:
    """Relative paths of plain ASCII that every file system takes, and that none of them folds together."""
    seen: dict[str, str] = {}
    for path in tree:
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*(/[A-Za-z0-9_][A-Za-z0-9_.+-]*)*", path):
            yield f"{path!r} is not a plain relative path"
        if ".." in path.split("/"):
            yield f"{path!r} leaves the tree"
        if path.lower() in seen:
            yield f"{path!r} and {seen[path.lower()]!r} differ in case only"
        seen[path.lower()] = path


def text_faults(tree: Tree) -> Iterator[str]:
    """Text is ASCII without control characters and ends with a line end: no text of a model got through."""
    for path, content in tree.items():
        if isinstance(content, bytes):
            continue
        if not content.endswith("\n"):
            yield f"{path} does not end with a line end"
        bad = {c for c in content if c not in "\n\t" and not " " <= c <= "~"}
        if bad:
            yield f"{path} has the characters {sorted(map(ord, bad))}"
        if any(line != line.rstrip() for line in content.split("\n")):
            yield f"{path} has spaces at a line's end"
