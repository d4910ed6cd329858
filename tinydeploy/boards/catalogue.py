"""Finding boards: those of the package, those of ``TINYDEPLOY_BOARD_PATH``, and a file given by its path."""

from __future__ import annotations

import difflib
import os
from pathlib import Path

from tinydeploy.boards.board_file import load_board_file
from tinydeploy.boards.model import Board
from tinydeploy.errors import TinyDeployError
from tinydeploy.resources import boards_dir

BOARD_PATH_VARIABLE = "TINYDEPLOY_BOARD_PATH"


def board_folders() -> tuple[Path, ...]:
    """Where boards are looked for: the folders of ``TINYDEPLOY_BOARD_PATH`` first, then the package's own."""
    extra = os.environ.get(BOARD_PATH_VARIABLE, "")
    return (*(Path(part) for part in extra.split(os.pathsep) if part), boards_dir())


def all_boards() -> tuple[Board, ...]:
    """Every board, by name; a board of an earlier folder hides one of the same name in a later folder."""
    found: dict[str, Board] = {}
    for folder in board_folders():
        if not folder.is_dir():
            raise TinyDeployError("is not a folder", where=f"{BOARD_PATH_VARIABLE}: {folder}")
        for file in sorted(folder.glob("*.toml")):
            board = load_board_file(file)
            found.setdefault(board.name, board)
    return tuple(found[name] for name in sorted(found))


def load_board(name_or_path: str | Path) -> Board:
    """The board of that name, alias or file path (``./mine.toml``).

    Raises TinyDeployError that lists the supported boards, the closest names first.
    """
    text = str(name_or_path)
    if text.endswith(".toml"):
        return load_board_file(Path(text))
    boards = all_boards()
    for board in boards:
        if text == board.name or text in board.aliases:
            return board
    names = [name for board in boards for name in (board.name, *board.aliases)]
    close = difflib.get_close_matches(text, names, n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(close)}? " if close else ""
    raise TinyDeployError(
        f"board {text!r} is not supported. Supported: {', '.join(board.name for board in boards)}",
        fix=f"{hint}A board of your own is a file: --board ./mine.toml",
    )


def need_firmware(board: Board) -> None:
    """Raise TinyDeployError for a board of the tier ``library``: it names the command that serves it."""
    if not board.chip.is_buildable:
        raise TinyDeployError(
            "has no firmware of ours: its own tools build it",
            where=f"board {board.name}",
            fix=f"tinydeploy export MODEL --board {board.name} --format FORMAT",
        )
