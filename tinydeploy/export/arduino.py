"""An Arduino library: sources in ``src``, an example sketch, and what the IDE shows of it.

Written after the Arduino library specification, revision 2.2 (1.5 format, recursive layout).
"""

from __future__ import annotations

import re

from tinydeploy.boards import Board
from tinydeploy.codegen.literals import CIdent, Raw
from tinydeploy.errors import TinyDeployError
from tinydeploy.export.example import example_files
from tinydeploy.export.project import Project, Tree
from tinydeploy.export.publish import below, licence, published
from tinydeploy.export.text import render

# Its header would stand for the core's own one on file systems that fold case.
_TAKEN = ("arduino",)


def make(project: Project) -> Tree:
    """The folder to be put into ``libraries``; raises TinyDeployError for a name that it cannot have."""
    name = project.name
    if name in _TAKEN:
        raise TinyDeployError(
            f"the name {name!r} is taken by Arduino's own {name.capitalize()}.h", fix="Choose another --name"
        )
    files = project.library_files()
    values = {
        **published(project, "arduino"),
        **_keywords(files[f"{name}.h"], name),
        "fqbn": Raw(_fqbn(project.board)),
        "is_avr": project.compiled.program.target.core == "avr",
    }
    sketch = f"examples/{name}_inference"
    return {
        "library.properties": render("arduino/library.properties.j2", **values),
        "keywords.txt": render("arduino/keywords.txt.j2", **values),
        "README.md": render("arduino/README.md.j2", **values),
        "LICENSE": licence(),
        **below("src", files),
        f"{sketch}/{name}_inference.ino": render("arduino/sketch.ino.j2", **values),
        **below(sketch, example_files(project)),
    }


def _fqbn(board: Board | None) -> str:
    """The fully qualified board name, or a word in its place where we do not know it."""
    return ":".join(board.frameworks.arduino) if board and board.frameworks.arduino else "BOARD"


def _keywords(header: str, name: str) -> dict[str, object]:
    """The words of the interface that the IDE colours; declarations start their line, comments do not."""
    functions = re.findall(rf"^[a-z][\w *]*\b({name}_\w+)\(", header, re.MULTILINE)
    constants = re.findall(rf"^#define ({name.upper()}_\w+) ", header, re.MULTILINE)
    return {
        "types": [CIdent(f"{name}_t")],
        "functions": [CIdent(word) for word in dict.fromkeys(functions)],
        "constants": [CIdent(word) for word in dict.fromkeys(constants)],
    }
