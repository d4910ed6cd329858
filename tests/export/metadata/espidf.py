"""The manifest format of the IDF component manager, and the layout of a component with examples."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Generator, Iterator
from typing import Any

from tests.export.metadata.tree import Tree, text_of
from tests.export.metadata.yaml_file import (
    either,
    kind,
    mapping,
    mapping_of,
    one_of,
    read_yaml,
    sequence,
    string,
)

TARGETS = ("esp32", "esp32s2", "esp32s3", "esp32c2", "esp32c3", "esp32c5", "esp32c6", "esp32h2", "esp32p4")

# A name: letters and digits, single separators between them. Names of the registry have an owner before them.
SLUG = r"(?=[a-zA-Z\d])(?!.*[_-]{2})[a-zA-Z\d_-]{1,63}[a-zA-Z\d]"
_DEPENDENCY_NAME = rf"({SLUG}/)?{SLUG}"
_NUMBER = r"(0|[1-9]\d*)"
VERSION = rf"{_NUMBER}\.{_NUMBER}\.{_NUMBER}(~\d+)?(-[a-z0-9.]+)?(\+[a-z0-9.]+)?"
_CLAUSE = r"(\*|(>=|>|==|<=|<|!=|~=|~|\^)?\d+(\.(\d+|\*)){0,2})"
RANGE = rf"{_CLAUSE}(,{_CLAUSE})*"
_ADDRESS = string(r"https?://[!-~]+")

DEPENDENCY = either(
    string(RANGE),
    mapping(
        {
            "version": string(RANGE),
            "path": string(r"[^/].*"),
            "override_path": string(r"[^/].*"),
            "git": string(),
            "require": one_of("public", "private", "no"),
            "pre_release": kind(bool),
            "rules": sequence(mapping({"if": string()}, ("if",))),
            "matches": sequence(mapping({"if": string()}, ("if",))),
        }
    ),
)
MANIFEST = mapping(
    {
        "version": string(VERSION),
        "description": string(),
        "targets": sequence(one_of(*TARGETS)),
        "maintainers": sequence(string()),
        "license": string(r"[A-Za-z0-9.+-]+"),
        "tags": sequence(string(r"[A-Za-z0-9_-]{3,32}")),
        "url": _ADDRESS,
        "repository": _ADDRESS,
        "documentation": _ADDRESS,
        "issues": _ADDRESS,
        "files": mapping(
            {"include": sequence(string()), "exclude": sequence(string()), "use_gitignore": kind(bool)}
        ),
        "examples": sequence(mapping({"path": string()}, ("path",))),
        "dependencies": mapping_of(_DEPENDENCY_NAME, DEPENDENCY),
    }
)


def faults(tree: Tree) -> Iterator[str]:
    """The rules that a folder of components breaks: each component is a folder with the component's name."""
    components = sorted({path.split("/")[0] for path in tree if "/" in path})
    if not components:
        yield "there is no component"
    for component in components:
        yield from _component(tree, component)


def _component(tree: Tree, folder: str) -> Iterator[str]:
    if not re.fullmatch(SLUG, folder):
        yield f"{folder!r} cannot be a component's name"
    if "idf_component_register(" not in text_of(tree, f"{folder}/CMakeLists.txt"):
        yield f"{folder}/CMakeLists.txt registers no component"
    if not {f"{folder}/LICENSE", f"{folder}/LICENSE.txt"} & tree.keys():
        yield f"{folder} has no LICENSE"
    if f"{folder}/README.md" not in tree:
        yield f"{folder} has no README.md"
    manifest = yield from _manifest(tree, f"{folder}/idf_component.yml")
    for key in ("version", "description", "url"):
        if isinstance(manifest, dict) and key not in manifest:
            yield f"{folder}/idf_component.yml: {key} is missing"
    examples = {
        match[1] for path in tree if (match := re.match(rf"({folder}/examples/[^/]+)/", path)) is not None
    }
    if not examples:
        yield f"{folder} has no example"
    for example in sorted(examples):
        yield from _example(tree, folder, example)


def _manifest(tree: Tree, path: str) -> Generator[str, None, Any]:
    """Faults; the generator's value is the content."""
    if path not in tree:
        yield f"there is no {path}"
        return None
    try:
        content = read_yaml(text_of(tree, path))
    except ValueError as error:
        yield f"{path}: {error}"
        return None
    yield from MANIFEST(content, path)
    return content


def _example(tree: Tree, component: str, example: str) -> Iterator[str]:
    project = text_of(tree, f"{example}/CMakeLists.txt")
    lines = (
        "cmake_minimum_required(",
        "include($ENV{IDF_PATH}/tools/cmake/project.cmake)",
        "\nproject(",
    )
    order = [project.find(line) for line in lines]
    if -1 in order or order != sorted(order):
        yield f"{example}/CMakeLists.txt does not have the three lines of a project in order"
    if "idf_component_register(" not in text_of(tree, f"{example}/main/CMakeLists.txt"):
        yield f"{example}/main/CMakeLists.txt registers no component"
    content = yield from _manifest(tree, f"{example}/main/idf_component.yml")
    if not isinstance(content, dict):
        return
    for name, dependency in content.get("dependencies", {}).items():
        if isinstance(dependency, dict) and "override_path" in dependency:
            target = posixpath.normpath(posixpath.join(f"{example}/main", dependency["override_path"]))
            if target != component:
                yield f"{example}: override_path leads to {target}, not to {component}"
            if name.rpartition("/")[2] != posixpath.basename(target):
                yield f"{example}: the component {name} lies in a folder called {posixpath.basename(target)}"
