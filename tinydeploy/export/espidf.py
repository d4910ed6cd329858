"""A component for ESP-IDF with an example project, in a folder of the component's name.

ESP-IDF calls a component as its folder, and the example must find it there: the folder is part of the tree.
Written after the guide of ESP-IDF's build system and the reference of the component manager's manifest.
"""

from __future__ import annotations

from tinydeploy.boards import Board
from tinydeploy.errors import TinyDeployError
from tinydeploy.export.example import example_files
from tinydeploy.export.project import Project, Tree
from tinydeploy.export.publish import below, licence, published
from tinydeploy.export.text import Word, render


def check_board(board: Board | None) -> None:
    """Raise TinyDeployError where ESP-IDF does not build for the board."""
    if board is not None and not board.frameworks.esp_idf:
        raise TinyDeployError(
            f"ESP-IDF does not build for the board {board.name}",
            where=str(board.path),
            fix="Name a board with a chip of Espressif's, or name --core alone; in a board file of yours set "
            "esp_idf in [framework]",
        )


def make(project: Project) -> Tree:
    """A folder to be put into ``components``; its parent can be one of EXTRA_COMPONENT_DIRS."""
    target = project.board.frameworks.esp_idf if project.board else ""
    values = {
        **published(project, "espidf"),
        "target": Word(target) if target else None,
        "shown_target": Word(target or "esp32s3"),
    }
    example = f"examples/{project.name}_inference"
    texts = {
        "CMakeLists.txt": "CMakeLists.txt",
        "idf_component.yml": "idf_component.yml",
        "README.md": "README.md",
        f"{example}/CMakeLists.txt": "example_CMakeLists.txt",
        f"{example}/sdkconfig.defaults": "sdkconfig.defaults",
        f"{example}/main/CMakeLists.txt": "main_CMakeLists.txt",
        f"{example}/main/idf_component.yml": "main_idf_component.yml",
        f"{example}/main/main.c": "main.c",
    }
    tree = {path: render(f"espidf/{template}.j2", **values) for path, template in texts.items()}
    tree |= {"LICENSE": licence()}
    tree |= {f"src/{path}": text for path, text in project.library_files().items()}
    tree |= {f"{example}/main/{path}": text for path, text in example_files(project).items()}
    return below(f"tinydeploy_{project.name}", tree)
