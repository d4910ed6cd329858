"""The Arduino library specification, revision 2.2: library.properties, the layout, keywords.txt."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.export.metadata.tree import Tree, text_of

REQUIRED = (
    "name",
    "version",
    "author",
    "maintainer",
    "sentence",
    "paragraph",
    "category",
    "url",
    "architectures",
)
OPTIONAL = ("depends", "dot_a_linkage", "includes", "precompiled", "ldflags")
CATEGORIES = (
    "Display",
    "Communication",
    "Signal Input/Output",
    "Sensors",
    "Device Control",
    "Timing",
    "Data Storage",
    "Data Processing",
    "Other",
)
TOKEN_TYPES = ("KEYWORD1", "KEYWORD2", "KEYWORD3", "LITERAL1", "LITERAL2")
NUMBER = r"(0|[1-9][0-9]*)"


def faults(tree: Tree) -> Iterator[str]:
    """The rules that a library breaks."""
    if "library.properties" not in tree:
        yield "there is no library.properties"
        return
    yield from _properties(tree, text_of(tree, "library.properties"))
    yield from _layout(tree)
    yield from _sketches(tree)
    if "keywords.txt" in tree:
        yield from _keywords(text_of(tree, "keywords.txt"))


def _properties(tree: Tree, text: str) -> Iterator[str]:
    found: dict[str, str] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        key, sign, value = line.partition("=")
        if not sign or key != key.strip() or not key:
            yield f"line {number} is not key=value"
        elif key in found:
            yield f"{key} comes twice"
        else:
            found[key] = value.strip()
    for key in REQUIRED:
        if not found.get(key):
            yield f"{key} is missing or empty"
    for key in found:
        if key not in (*REQUIRED, *OPTIONAL):
            yield f"{key} is not a field"
    yield from _values(tree, found)


def _values(tree: Tree, found: dict[str, str]) -> Iterator[str]:
    name = found.get("name", "x")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9 _.-]{0,62}", name) or not re.search(r"[A-Za-z]", name):
        yield f"name {name!r} has other than letters, digits, space, _ . - or is longer than 63"
    if name.lower().startswith("arduino"):
        yield f"name {name!r} is reserved for Arduino's own libraries"
    if not re.fullmatch(rf"{NUMBER}\.{NUMBER}(\.{NUMBER})?", found.get("version", "1.0")):
        yield f"version {found['version']!r} is no semantic version"
    if found.get("category", "Other") not in CATEGORIES:
        yield f"category {found['category']!r} is not one of {CATEGORIES}"
    if not re.fullmatch(r"https?://[!-~]+", found.get("url", "http://x")):
        yield f"url {found['url']!r} is no address"
    if not re.fullmatch(r"\*|[a-z0-9_]+(, ?[a-z0-9_]+)*", found.get("architectures", "*")):
        yield f"architectures {found['architectures']!r} is neither * nor a list"
    if found.get("sentence") and found["sentence"] in found.get("paragraph", ""):
        yield "paragraph repeats the sentence, which is shown before it"
    for header in filter(None, re.split(r", *", found.get("includes", ""))):
        if f"src/{header}" not in tree:
            yield f"includes names {header}, which is not in src"


def _layout(tree: Tree) -> Iterator[str]:
    if not any(path.startswith("src/") for path in tree):
        yield "there is no src folder"
    for path in tree:
        folder, name = path.rpartition("/")[::2]
        if folder == "" and re.search(r"\.(c|cpp|h|hpp|S)$", name):
            yield f"{path}: sources belong into src"
        if folder.split("/")[0] == "utility":
            yield f"{path}: folder of the old layout, not compiled beside src"
        if folder.split("/")[0] == "src" and not re.search(r"\.(c|cpp|h|hpp|S)$", name):
            yield f"{path}: src holds sources only"
        if folder.split("/")[0] in ("example", "Examples", "Example"):
            yield f"{path}: the folder must be called examples"


def _sketches(tree: Tree) -> Iterator[str]:
    """``examples/X/X.ino``, for each folder there."""
    folders = {path.split("/")[1] for path in tree if path.startswith("examples/")}
    if not folders:
        yield "there is no example"
    for folder in folders:
        if f"examples/{folder}/{folder}.ino" not in tree:
            yield f"examples/{folder} has no {folder}.ino"
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,62}", folder):
            yield f"the sketch {folder!r} has a name that no sketch may have"


def _keywords(text: str) -> Iterator[str]:
    for number, line in enumerate(text.splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) not in (2, 3, 4) or not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", fields[0]):
            yield f"keywords.txt, line {number}: not a word, one tab and its kind"
        elif fields[1] not in TOKEN_TYPES:
            yield f"keywords.txt, line {number}: {fields[1]!r} is not one of {TOKEN_TYPES}"
