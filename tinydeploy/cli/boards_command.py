"""``tinydeploy boards``: what is supported."""

from __future__ import annotations

from tinydeploy.boards import Board, all_boards
from tinydeploy.cli import console
from tinydeploy.cli.options import Json


def boards(as_json: Json = False) -> None:
    """List the boards, their memories and their emulators.

    Example: tinydeploy boards
    """
    found = [_figures(board) for board in all_boards()]
    rows = [
        (
            board["name"],
            board["core"],
            board["ram_bytes"] or "",
            board["flash_bytes"] or "",
            board["emulator"] or "",
            board["title"],
        )
        for board in found
    ]
    table = console.table("Boards", rows, columns=("name", "core", "RAM", "flash", "emulator", "what it is"))
    console.result({"boards": found}, as_json=as_json, text=table)


def _figures(board: Board) -> dict[str, object]:
    return {
        "name": board.name,
        "aliases": list(board.aliases),
        "title": board.title,
        "core": board.chip.cpu,
        "ram_bytes": board.chip.ram_bytes,
        "flash_bytes": board.chip.flash_bytes,
        "clock_hz": board.clock_hz,
        "emulator": board.emulators[0].kind if board.emulators else None,
        "tier": board.tier.value,
    }
