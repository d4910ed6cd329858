"""``tinydeploy export``: a model to a project of another build system."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tinydeploy import build
from tinydeploy.boards import Board, Kind, load_board
from tinydeploy.build import Compiled
from tinydeploy.cli import console
from tinydeploy.cli.options import Core, Json, Model, Name, OptionalBoard, reads_model, target_for
from tinydeploy.errors import TinyDeployError
from tinydeploy.export import Tree, make_project, write_tree
from tinydeploy.export.formats import FORMATS, find_format
from tinydeploy.export.platformio import framework_of
from tinydeploy.export.platformio import make as make_platformio
from tinydeploy.frontends import ImportOptions, load


@reads_model
def export(
    model: Model,
    options: ImportOptions,
    format_: Annotated[str, typer.Option("--format", metavar="FORMAT", help=f"{', '.join(FORMATS)}.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for the files.")],
    board: OptionalBoard = None,
    core: Core = None,
    framework: Annotated[
        str | None,
        typer.Option("--framework", metavar="arduino|zephyr", help="For platformio; by default bare metal."),
    ] = None,
    name: Name = None,
    as_json: Json = False,
) -> None:
    """Write a project to open, build and run: the C, an example with a test vector, a README.

    Example: tinydeploy export kws.tflite --format platformio --board nucleo-f746 -o kws
    """
    chosen = find_format(format_)
    found = None if board is None else load_board(board)
    if framework is not None:
        if chosen.make is not make_platformio:
            raise TinyDeployError(f"--framework is not for --format {chosen.name}", fix="Leave it out")
        framework_of(found, framework)
    else:
        chosen.check_board(found)
    compiled = build.compile_graph(load(model, options), target_for(board, core), name=name)
    _check_ram(compiled, found)
    project = make_project(compiled, found)
    tree = chosen.make(project) if framework is None else make_platformio(project, framework)
    write_tree(tree, output)
    figures = {
        **compiled.figures(),
        "format": chosen.name,
        "board": found.name if found else None,
        "framework": framework,
        "files": sorted(tree),
        "output": str(output),
    }
    text = _text(compiled, chosen.title, found, tree, output)
    console.result(figures, as_json=as_json, text=console.printable(text))


def _check_ram(compiled: Compiled, board: Board | None) -> None:
    """Raise BudgetError where no memory of the board holds the arena."""
    if board is None or board.is_host:
        return
    largest = max((region.size for region in board.chip.regions if region.kind is Kind.RAM), default=0)
    build.check_ram(compiled, largest, f"{board.name} has {{:,}} in one piece")


def _text(compiled: Compiled, title: str, board: Board | None, tree: Tree, output: Path) -> str:
    library = compiled.library
    place = board.name if board else compiled.program.target.core
    lines = [
        f"{library.prefix} for {place}: {title}",
        f"  arena    {compiled.plan.arena_bytes:>10,} bytes",
        f"  weights  {library.weights_bytes:>10,} bytes",
        f"wrote {len(tree)} files to {output}; README.md says how to build them",
    ]
    return "\n".join(lines)
