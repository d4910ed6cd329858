"""A CMake package: a target to link to, installable, for ``find_package``, with an example as its test."""

from __future__ import annotations

import re

from tinydeploy.codegen import Files
from tinydeploy.codegen.literals import CIdent, Raw
from tinydeploy.export.example import example_files
from tinydeploy.export.project import Project, Tree
from tinydeploy.export.publish import below, licence, published
from tinydeploy.export.text import render

_TARGETS = ("all", "clean", "depend", "edit_cache", "help", "install", "package", "package_source", "test")
"""Names in lower case that CMake keeps for targets of its own."""


def make(project: Project) -> Tree:
    """All files of a package."""
    library = project.library_files()
    values = {
        **published(project, "cmake"),
        "target": CIdent(_target(project.name)),
        "headers": [Raw(name) for name in _public(library, f"{project.name}.h")],
    }
    return {
        "CMakeLists.txt": render("cmake/CMakeLists.txt.j2", **values),
        "README.md": render("cmake/README.md.j2", **values),
        "LICENSE": licence(),
        "example/main.c": render("cmake/main.c.j2", **values),
        **below("src", library),
        **below("example", example_files(project)),
    }


def _target(name: str) -> str:
    return f"{name}_library" if name in _TARGETS else name


def _public(library: Files, header: str) -> list[str]:
    """The headers that a user's file reaches through one of them."""
    found: list[str] = []
    wanted = [header]
    while wanted:
        name = wanted.pop()
        if name not in found:
            found.append(name)
            wanted += re.findall(r'^#include "(.+)"$', library[name], re.MULTILINE)
    return sorted(found)
