"""``tinydeploy verify``: are the bits of a board those of the reference?"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from tinydeploy import build
from tinydeploy.cli import console
from tinydeploy.cli.options import Board, Compiler, Core, Json, Model, host_toolchain, target_for
from tinydeploy.emulate.host import build_host
from tinydeploy.frontends import load
from tinydeploy.kernels.targets import target_of
from tinydeploy.verify import Comparison, compare, load_inputs, make_samples


def verify(
    model: Model,
    board: Board = "host",
    samples: Annotated[int, typer.Option(min=1, help="How many inputs; half from --data.")] = 16,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="X.npz", help="Real inputs: arrays in0, in1, ...")
    ] = None,
    real: Annotated[bool, typer.Option("--float", help="Quantize real-valued inputs.")] = False,
    core: Core = None,
    toolchain: Compiler = None,
    as_json: Json = False,
) -> None:
    """Run a model on a board and compare every kernel instance, row by row, with the exact reference.

    On the host, --core checks the kernels of another core through their portable C.
    Example: tinydeploy verify kws.tflite --board host --samples 32
    """
    graph = load(model)
    compiler = host_toolchain(board, toolchain)
    target = target_for(board, None) if core is None else target_of(core)
    chosen = make_samples(graph, samples, load_inputs(data, graph, real=real) if data else ())
    compiled = build.compile_graph(graph, target)
    with tempfile.TemporaryDirectory(prefix="tinydeploy-") as folder:
        program = build_host(compiled, Path(folder), compiler)
        with console.progress("verifying", samples) as tell:
            found = compare(compiled.program, chosen, program.run(chosen), tell)
    first = found.first_bad_step
    figures: dict[str, object] = {
        "model": compiled.graph.name,
        "board": board,
        "core": target.core,
        "toolchain": f"{compiler.name} {compiler.version}",
        "oracle": "reference",
        "bit_exact": found.bit_exact,
        "mismatches": found.mismatches,
        "max_abs_diff": found.max_abs_diff,
        "samples": found.samples,
        "instances": len(list(compiled.program.calls())),
        "instances_compared": found.instances_compared,
        "first_bad_step": first.as_json() if first else None,
    }
    console.result(figures, as_json=as_json, text=_text(found))
    if not found.bit_exact:
        raise typer.Exit(console.ANSWER_IS_NO)


def _text(found: Comparison) -> str:
    if found.bit_exact:
        return (
            f"bit-exact: yes ({found.samples} samples, {found.instances_compared} kernel runs compared "
            "with the reference)"
        )
    first = found.first_bad_step
    at = (
        f"; first at {console.printable(first.name[:80])} ({first.op}, {first.schedule}), "
        f"sample {first.sample}, row {first.row}"
        if first
        else ""
    )
    return f"bit-exact: no, {found.mismatches} output elements differ by up to {found.max_abs_diff:g}{at}"
