"""``tinydeploy boards``: what is supported, and ``boards new``: a board file from a description of others."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tinydeploy.boards import Board, Tier, all_boards
from tinydeploy.boards.new import Draft, draft_from, write_draft
from tinydeploy.cli import console
from tinydeploy.cli.options import Json

_COLUMNS = ("name", "tier", "core", "RAM KiB", "flash KiB", "emulator", "what it is")

app = typer.Typer(rich_markup_mode=None)
"""The group: the list when called plainly."""


@app.callback(invoke_without_command=True)
def boards(context: typer.Context, as_json: Json = False) -> None:
    """List the boards, their memories, their emulators and how far they are proved.

    Tiers: runs: its image runs in an emulator in our tests; builds: its image is built and checked there,
    untested on hardware; library: exports for the vendor's tools only. Example: tinydeploy boards
    """
    if context.invoked_subcommand is None:
        list_boards(as_json=as_json)


def list_boards(*, as_json: bool) -> None:
    """Print every board, the proved ones first."""
    tiers = list(Tier)
    found = sorted(all_boards(), key=lambda board: (tiers.index(board.tier), board.name))
    table = console.table("Boards", [_row(board) for board in found], columns=_COLUMNS, whole_names=True)
    console.result({"boards": [_figures(board) for board in found]}, as_json=as_json, text=table)


@app.command("new")
def new(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="A PlatformIO manifest (.json), a Zephyr build's zephyr.dts or a linker script (.ld).",
            show_default=False,
        ),
    ],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="MINE.toml", help="The board file.")],
    name: Annotated[
        str | None, typer.Option("--name", help="The board's name; by default the output's.")
    ] = None,
    chip: Annotated[
        str | None, typer.Option("--chip", metavar="CHIP", help="A chip of ours, instead of a search.")
    ] = None,
    cpu: Annotated[
        str | None,
        typer.Option("--cpu", metavar="CPU", help="The core, such as cortex-m4, if FILE has none."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace files that exist.")] = False,
    as_json: Json = False,
) -> None:
    """Write a board file from what others wrote about the board.

    Where none of our chips fits, a chip file goes to chips/ beside it. What FILE does not tell is marked
    FILL IN in the files and listed. Example: tinydeploy boards new nucleo_f746zg.json -o mine.toml
    """
    draft = draft_from(source, output, name, chip, cpu)
    files = write_draft(draft, output, force=force)
    figures = {
        "board": draft.name,
        "chip": draft.chip,
        "chip_is_ours": not draft.chip_text,
        "taken_from": draft.taken_from or None,
        "files": [str(path) for path in files],
        "complete": not draft.missing,
        "missing": [{"file": lack.file, "key": lack.key, "what": lack.what} for lack in draft.missing],
        "notes": list(draft.notes),
    }
    console.result(figures, as_json=as_json, text=console.printable(_text(draft, output, files)))


def _text(draft: Draft, output: Path, files: tuple[Path, ...]) -> str:
    lines = [f"wrote {path}" for path in files]
    if draft.chip_text:
        lines.append(f"none of our chips fits: {draft.chip} is a draft")
    else:
        lines.append(f"chip {draft.chip}, taken {draft.reason}")
    if draft.taken_from:
        lines.append(f"the board {draft.taken_from} is the same one: what {output.name} lacked is from there")
    lines += [f"note: {note}" for note in draft.notes]
    if draft.missing:
        lines.append("fill in, where the files say FILL IN:")
        lines += [f"  {lack.file}: {lack.key}: {lack.what}" for lack in draft.missing]
    else:
        lines.append(f"it is complete; try: tinydeploy build MODEL --board {output} -o build")
    return "\n".join(lines)


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
