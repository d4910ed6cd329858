"""``tinydeploy boards``: what is supported."""

from __future__ import annotations

from tinydeploy.boards import Board, Tier, all_boards
from tinydeploy.cli import console
from tinydeploy.cli.options import Json

_COLUMNS = ("name", "tier", "core", "RAM KiB", "flash KiB", "emulator", "what it is")


def boards(as_json: Json = False) -> None:
    """List the boards, their memories, their emulators and how far they are proved.

    Tiers: runs: its image runs in an emulator in our tests; builds: its image is built and checked there,
    untested on hardware; library: exports for the vendor's tools only. Example: tinydeploy boards
    """
    tiers = list(Tier)
    found = sorted(all_boards(), key=lambda board: (tiers.index(board.tier), board.name))
    table = console.table("Boards", [_row(board) for board in found], columns=_COLUMNS)
    console.result({"boards": [_figures(board) for board in found]}, as_json=as_json, text=table)


def _row(board: Board) -> tuple[object, ...]:
    chip = board.chip
    sizes = ("", "") if chip.is_host else (chip.ram_bytes // 1024, chip.flash_bytes // 1024)
    emulator = board.emulators[0].kind if board.emulators else ""
    return (board.name, board.tier.value, chip.cpu, *sizes, emulator, board.title)


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
