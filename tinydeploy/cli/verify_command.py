"""``tinydeploy verify``: are the bits of a board those of the reference?"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tinydeploy import build
from tinydeploy.boards import load_board
from tinydeploy.build import Compiled
from tinydeploy.cli import console
from tinydeploy.cli.options import (
    BoardName,
    Compiler,
    Core,
    Emulate,
    FirmwareFile,
    Json,
    Model,
    Port,
    Real,
    target_for,
    toolchain_for,
)
from tinydeploy.cli.targets import model_on_board, refuse_board_options
from tinydeploy.device import Source, verify_device
from tinydeploy.emulate.host import build_host
from tinydeploy.errors import TinyDeployError
from tinydeploy.frontends import load
from tinydeploy.kernels.targets import target_of
from tinydeploy.toolchain import Toolchain
from tinydeploy.verify import Comparison, compare, load_inputs, make_samples, ports_of
from tinydeploy.verify.samples import Sample


def verify(
    model: Model,
    board: BoardName = "host",
    emulate: Emulate = False,
    samples: Annotated[int, typer.Option(min=1, help="How many inputs; half from --data.")] = 16,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="X.npz", help="Real inputs: arrays in0, in1, ...")
    ] = None,
    real: Real = False,
    core: Core = None,
    firmware: FirmwareFile = None,
    port: Port = None,
    toolchain: Compiler = None,
    as_json: Json = False,
) -> None:
    """Run a model on a board and compare every kernel instance, row by row, with the exact reference.

    On the host, --core checks the kernels of another core through their portable C.
    Example: tinydeploy verify kws.tflite --board qemu-m4 --emulate --samples 8
    """
    found_board = load_board(board)
    refuse_board_options(found_board, emulate=emulate, port=port, firmware=firmware)
    if core is not None and not found_board.is_host:
        raise TinyDeployError("--core is for the board host", fix="Leave it out: the board has its core")
    graph = load(model)
    real_inputs = load_inputs(data, ports_of(graph), real=real) if data else ()
    chosen = make_samples(graph, samples, real_inputs)
    target = target_for(board, None) if core is None else target_of(core)
    compiled = build.compile_graph(graph, target)
    builds = firmware is None and port is None
    compiler = toolchain_for(board, toolchain) if builds else None
    if compiler is not None and found_board.is_host:
        found = _on_host(compiled, compiler, chosen)
    else:
        source = Source(found_board, emulate, port)
        with (
            model_on_board(compiled, source, compiler, firmware, trace=True) as client,
            console.progress("verifying", samples) as tell,
        ):
            found = verify_device(client, compiled, chosen, tell)
    first = found.first_bad_step
    figures: dict[str, object] = {
        "model": compiled.graph.name,
        "board": found_board.name,
        "core": target.core,
        "toolchain": f"{compiler.name} {compiler.version}" if compiler else None,
        "oracle": "reference",
        "bit_exact": found.bit_exact,
        "mismatches": found.mismatches,
        "max_abs_diff": found.max_abs_diff,
        "samples": found.samples,
        "instances": len(list(compiled.program.calls())),
        "instances_compared": found.instances_compared,
        "first_bad_step": first.as_json() if first else None,
    }
    console.result(figures, as_json=as_json, text=summary(found))
    if not found.bit_exact:
        raise typer.Exit(console.ANSWER_IS_NO)


def _on_host(compiled: Compiled, compiler: Toolchain, samples: Sequence[Sample]) -> Comparison:
    with tempfile.TemporaryDirectory(prefix="tinydeploy-") as folder:
        program = build_host(compiled, Path(folder), compiler)
        with console.progress("verifying", len(samples)) as tell:
            return compare(compiled.program, samples, program.run(samples), tell)


def summary(found: Comparison) -> str:
    """A comparison as one line."""
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
