"""``tinydeploy run``: a model on a board with the user's inputs."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from tinydeploy import build
from tinydeploy.cli import console
from tinydeploy.cli.options import Board, Compiler, Json, Model, host_toolchain, target_for
from tinydeploy.emulate.host import build_host
from tinydeploy.errors import TinyDeployError
from tinydeploy.frontends import load
from tinydeploy.ir import Array
from tinydeploy.verify import load_inputs


def run(
    model: Model,
    input_: Annotated[Path, typer.Option("--input", metavar="IN.npz", help="Arrays in0, in1, ...")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="OUT.npz", help="Gets out0, out1, ...")],
    board: Board = "host",
    real: Annotated[bool, typer.Option("--float", help="Quantize real-valued inputs.")] = False,
    repeat: Annotated[int, typer.Option(min=1, help="Run K times; keys become outJ_stepK.")] = 1,
    toolchain: Compiler = None,
    as_json: Json = False,
) -> None:
    """Run a model on a board.

    An input array has the input's shape, or one more leading axis for several samples; the outputs then have
    it too. Example: tinydeploy run kws.tflite --board host --input in.npz -o out.npz
    """
    graph = load(model)
    compiler = host_toolchain(board, toolchain)
    samples = load_inputs(input_, graph, real=real)
    compiled = build.compile_graph(graph, target_for(board, None))
    columns: dict[str, list[Array]] = {}
    with tempfile.TemporaryDirectory(prefix="tinydeploy-") as folder:
        program = build_host(compiled, Path(folder), compiler)
        sequence = [sample for sample in samples for _ in range(repeat)]
        with console.progress("running", len(sequence)) as tell:
            for index, answer in enumerate(program.run(sequence)):
                for port, array in enumerate(answer.outputs):
                    key = f"out{port}" if repeat == 1 else f"out{port}_step{index % repeat}"
                    columns.setdefault(key, []).append(array)
                tell(index + 1)
    arrays = {key: column[0] if len(samples) == 1 else np.stack(column) for key, column in columns.items()}
    save(output, arrays)
    figures = {"samples": len(samples), "repeat": repeat, "output": str(output), "arrays": sorted(arrays)}
    console.result(figures, as_json=as_json, text=f"ran {len(samples)} samples, wrote {output}")


def save(path: Path, arrays: dict[str, Array]) -> None:
    """Write an .npz file, complete or not at all; raises TinyDeployError where that fails."""
    temporary = path.with_name(f".{path.name}.part")
    try:
        with temporary.open("wb") as file:
            np.savez(file, allow_pickle=False, **arrays)
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise TinyDeployError(f"cannot write: {error.strerror}", where=str(path)) from None
