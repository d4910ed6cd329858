"""``tinydeploy verify``: does a board compute what the reference does, and how good is it at its task?"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from tinydeploy import build
from tinydeploy.build import Compiled
from tinydeploy.cli import console
from tinydeploy.cli.options import (
    Compiler,
    Core,
    Emulate,
    FirmwareFile,
    Json,
    Model,
    PlaceName,
    Port,
    Real,
    reads_model,
    toolchain_for,
)
from tinydeploy.cli.targets import board_for, model_on_board, refuse_board_options
from tinydeploy.device import Source, verify_device
from tinydeploy.emulate.host import build_host
from tinydeploy.errors import TinyDeployError
from tinydeploy.frontends import ImportOptions, load
from tinydeploy.ir import Array, Graph
from tinydeploy.kernels.targets import target_of
from tinydeploy.toolchain import Toolchain
from tinydeploy.verify import (
    Comparison,
    Metric,
    Scores,
    Task,
    compare,
    load_inputs,
    make_samples,
    ports_of,
    task_of,
)
from tinydeploy.verify.samples import Sample

Outputs = tuple[Array, ...]


@reads_model
def verify(
    model: Model,
    options: ImportOptions,
    board: PlaceName = None,
    emulate: Emulate = False,
    samples: Annotated[int, typer.Option(min=1, help="How many inputs; half from --data.")] = 16,
    data: Annotated[
        Path | None, typer.Option("--data", metavar="X.npz", help="Real inputs: arrays in0, in1, ...")
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option("--labels", metavar="Y", help="Right answers of --data: .npy, .npz or .csv."),
    ] = None,
    metric: Annotated[Metric | None, typer.Option("--metric", help="What to score --data by.")] = None,
    float_model: Annotated[
        Path | None,
        typer.Option(
            "--float-model",
            metavar="MODEL",
            help="The network before its quantization; by default MODEL without its rounding.",
        ),
    ] = None,
    real: Real = False,
    core: Core = None,
    firmware: FirmwareFile = None,
    port: Port = None,
    toolchain: Compiler = None,
    as_json: Json = False,
) -> None:
    """Run a model on a board and compare every kernel instance, row by row, with the exact reference.

    Graphs that compute with floats are compared within a relative tolerance. With --labels and --metric all
    of --data is scored: the float network, the integer reference and the board in one table. On the host,
    --core checks the kernels of another core through their portable C.
    Example: tinydeploy verify kws.tflite --board qemu-m4 --emulate --samples 8
    Example: tinydeploy verify ic.onnx --data x.npz --labels y.csv --metric top1
    """
    found_board = board_for(board, port, firmware)
    refuse_board_options(found_board, emulate=emulate, port=port, firmware=firmware)
    if core is not None and not found_board.is_host:
        raise TinyDeployError("--core is for the board host", fix="Leave it out: the board has its core")
    graph = load(model, options)
    target = target_of(found_board.chip.cpu) if core is None else target_of(core)
    compiled = build.compile_graph(graph, target)
    task = _task(compiled.graph, metric, data, labels, graph, float_model, real=real)
    real_inputs = load_inputs(data, ports_of(compiled.graph), real=real) if data else ()
    chosen = make_samples(compiled.graph, samples, real_inputs)
    compiler = toolchain_for(str(found_board.path), toolchain) if firmware is None and port is None else None
    if compiler is not None and found_board.is_host:
        session = _on_host(compiled, compiler)
    else:
        session = _on_board(compiled, Source(found_board, emulate, port), compiler, firmware)
    with session as (check, run):
        with console.progress("verifying", samples) as tell:
            found = check(chosen, tell)
        scores = None
        if task is not None:
            with console.progress("scoring", len(task.samples)) as tell:
                scores = task.scores(compiled.graph, _told(run(task.samples), tell))
    first = found.first_bad_step
    figures: dict[str, object] = {
        "model": compiled.graph.name,
        "board": found_board.name,
        "core": target.core,
        "toolchain": f"{compiler.name} {compiler.version}" if compiler else None,
        "oracle": "reference",
        "bit_exact": found.bit_exact,
        "tolerance": found.tolerance,
        "passed": found.passed,
        "mismatches": found.mismatches,
        "max_abs_diff": found.max_abs_diff,
        "samples": found.samples,
        "instances": len(list(compiled.program.calls())),
        "instances_compared": found.instances_compared,
        "first_bad_step": first.as_json() if first else None,
        "worst_step": found.worst.as_json() if found.worst else None,
        "task": scores.as_json() if scores else None,
    }
    console.result(figures, as_json=as_json, text=summary(found))
    if scores is not None and not as_json:
        console.result({}, as_json=False, text=_score_table(scores, found_board.name))
    if not found.passed:
        raise typer.Exit(console.ANSWER_IS_NO)


def _task(
    graph: Graph,
    metric: Metric | None,
    data: Path | None,
    labels: Path | None,
    imported: Graph,
    float_model: Path | None,
    *,
    real: bool,
) -> Task | None:
    if metric is None and labels is None:
        if float_model is not None:
            raise TinyDeployError("--float-model is given without --metric", fix="Give --labels and --metric")
        return None
    if metric is None or labels is None or data is None:
        given = {"--data": data, "--labels": labels, "--metric": metric}
        missing = ", ".join(name for name, value in given.items() if value is None)
        raise TinyDeployError(
            f"missing for a score: {missing}", fix="Give --data, --labels and --metric together"
        )
    float_graph = None if float_model is None else load(float_model)
    return task_of(graph, metric, data, labels, real_inputs=real, imported=imported, float_graph=float_graph)


Check = Callable[[Sequence[Sample], Callable[[int], None]], Comparison]
Run = Callable[[Sequence[Sample]], Iterator[Outputs]]
"""Outputs of samples, each from a reset model."""


@contextmanager
def _on_host(compiled: Compiled, compiler: Toolchain) -> Iterator[tuple[Check, Run]]:
    """The model as a process on this machine."""
    with tempfile.TemporaryDirectory(prefix="tinydeploy-") as folder:
        program = build_host(compiled, Path(folder), compiler)

        def check(samples: Sequence[Sample], tell: Callable[[int], None]) -> Comparison:
            return compare(compiled.program, samples, program.run(samples), tell)

        def run(samples: Sequence[Sample]) -> Iterator[Outputs]:
            count = 1 if compiled.graph.states else RUN_AT_ONCE
            for start in range(0, len(samples), count):
                yield from (answer.outputs for answer in program.run(samples[start : start + count]))

        yield check, run


RUN_AT_ONCE = 64
"""Samples for one process: its answers lie in memory."""


@contextmanager
def _on_board(
    compiled: Compiled, source: Source, compiler: Toolchain | None, firmware: Path | None
) -> Iterator[tuple[Check, Run]]:
    """The model on a board, over its line."""
    with model_on_board(compiled, source, compiler, firmware, trace=True) as client:

        def check(samples: Sequence[Sample], tell: Callable[[int], None]) -> Comparison:
            return verify_device(client, compiled, samples, tell)

        def run(samples: Sequence[Sample]) -> Iterator[Outputs]:
            for sample in samples:
                client.reset_model()
                yield client.infer(sample).outputs

        yield check, run


def _told(answers: Iterator[Outputs], tell: Callable[[int], None]) -> Iterator[Outputs]:
    for index, outputs in enumerate(answers, 1):
        yield outputs
        tell(index)


def _score_table(scores: Scores, board: str) -> Table:
    row = [
        "-" if value is None else f"{value:.4f}" for value in (scores.real, scores.reference, scores.board)
    ]
    title = f"{scores.metric.value} over {scores.samples} samples"
    return console.table(title, [row], ["float", "integer reference", board])


def summary(found: Comparison) -> str:
    """A comparison as one line."""
    runs = f"{found.samples} samples"
    if found.instances_compared:
        runs += f", {found.instances_compared} kernel runs compared with the reference"
    else:
        runs += ", outputs compared with the reference"
    kind = "bit-exact" if found.tolerance is None else f"within {found.tolerance:g}"
    if found.passed:
        worst = f"; furthest {_named(found.worst.name)}, {found.worst.relative:.1e}" if found.worst else ""
        return f"{kind}: yes ({runs}{worst})"
    first = found.first_bad_step
    at = (
        f"; first at {_named(first.name)} ({first.op}, {first.schedule}), "
        f"sample {first.sample}, row {first.row}"
        if first
        else ""
    )
    return f"{kind}: no, {found.mismatches} output elements differ by up to {found.max_abs_diff:g}{at}"


def _named(name: str) -> str:
    return console.printable(name[:80])
