"""A Zephyr module with a sample: ``zephyr/module.yml``, a library behind a Kconfig option, a twister test.

Written after Zephyr's documentation of modules and its schemas of module.yml and sample.yaml.
"""

from __future__ import annotations

from tinydeploy.boards import Board
from tinydeploy.codegen.literals import Raw
from tinydeploy.export.example import example_files
from tinydeploy.export.project import Project, Tree
from tinydeploy.export.publish import below, licence, published
from tinydeploy.export.text import render

_NATIVE = "native_sim"


def make(project: Project) -> Tree:
    """The module's folder, to be named in a west manifest."""
    board = _board(project.board)
    values = {
        **published(project, "zephyr"),
        "zephyr_board": Raw(board or "BOARD"),
        "platforms": [Raw(platform) for platform in (_NATIVE, board) if platform],
    }
    sample = f"samples/{project.name}"
    texts = {
        "zephyr/module.yml": "module.yml",
        "zephyr/CMakeLists.txt": "CMakeLists.txt",
        "zephyr/Kconfig": "Kconfig",
        "README.md": "README.md",
        f"{sample}/CMakeLists.txt": "sample_CMakeLists.txt",
        f"{sample}/prj.conf": "prj.conf",
        f"{sample}/sample.yaml": "sample.yaml",
        f"{sample}/src/main.c": "main.c",
    }
    return {
        **{path: render(f"zephyr/{template}.j2", **values) for path, template in texts.items()},
        "LICENSE": licence(),
        **below("src", project.library_files()),
        **below(f"{sample}/src", example_files(project)),
    }


def _board(board: Board | None) -> str:
    return board.frameworks.zephyr if board else ""
