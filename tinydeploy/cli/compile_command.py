"""``tinydeploy compile``: a model to a C library for the user's own project."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tinydeploy import build
from tinydeploy.build import STAGES, Compiled
from tinydeploy.cli import console
from tinydeploy.cli.options import Core, Json, Model, Name, OptionalBoard, Slots, reads_model, target_for
from tinydeploy.errors import TinyDeployError
from tinydeploy.frontends import ImportOptions, load


@reads_model
def compile_(
    model: Model,
    options: ImportOptions,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="Folder for the files.")],
    board: OptionalBoard = None,
    core: Core = None,
    name: Name = None,
    ram: Annotated[
        int | None, typer.Option("--ram", metavar="BYTES", min=0, help="Fail if the arena needs more.")
    ] = None,
    dump_after: Annotated[
        str | None, typer.Option(metavar="STAGE", help=f"Print a stage: {', '.join(STAGES)}.")
    ] = None,
    slots: Slots = False,
    as_json: Json = False,
) -> None:
    """Generate self-contained C: a header, sources, weights and a CMakeLists.txt.

    Example: tinydeploy compile kws.tflite --core cortex-m4 --name kws -o lib/kws
    """
    if dump_after is not None and dump_after not in STAGES:
        raise TinyDeployError(f"stage {dump_after!r} is not known", fix=f"Stages: {', '.join(STAGES)}")

    def observe(stage: str, text: str) -> None:
        if stage == dump_after:
            console.dump(text, as_json=as_json)

    target = target_for(board, core)
    compiled = build.compile_graph(load(model, options), target, name=name, observe=observe, slots=slots)
    if ram is not None:
        build.check_ram(compiled, ram, "--ram allows {:,}")
    build.write_files(compiled.library.files, output)
    figures = {**compiled.figures(), "files": sorted(compiled.library.files), "output": str(output)}
    console.result(figures, as_json=as_json, text="" if dump_after else _text(compiled, output))


def _text(compiled: Compiled, output: Path) -> str:
    plan, library = compiled.plan, compiled.library
    proof = "optimal" if plan.optimal else f"bound {plan.lower_bound_bytes:,}"
    lines = [
        f"{library.prefix} for {compiled.program.target.core}",
        f"  arena    {plan.arena_bytes:>10,} bytes ({proof})",
        f"  tensors  {plan.tensor_bytes:>10,} bytes",
        f"  scratch  {plan.scratch_bytes:>10,} bytes",
        f"  weights  {library.weights_bytes:>10,} bytes (in the model {compiled.original_weights_bytes:,})",
        f"  tables   {library.table_bytes:>10,} bytes",
        f"  MACs     {library.macs:>10,}",
        f"wrote {len(library.files)} files to {output}",
    ]
    return console.printable("\n".join(lines))
