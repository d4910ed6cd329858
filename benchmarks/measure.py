"""One model on one board: built, run, counted."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from benchmarks.models import model_path
from tinydeploy.boards import Board, load_board
from tinydeploy.build import compile_graph
from tinydeploy.device import Source, build_model, can_sum_cycles, connect, count_run, sum_cycles
from tinydeploy.device.measure import measuring_samples, per_mac
from tinydeploy.errors import TinyDeployError
from tinydeploy.frontends import load
from tinydeploy.ir import Graph
from tinydeploy.kernels.targets import target_of
from tinydeploy.toolchain import cpu_spec, select


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one model on one board; bytes and counts as ``build`` and ``profile`` define them.

    ``error`` says why there are none. ``cycle_sum`` is None on cores without a table of costs.
    """

    model: str
    board: str
    core: str
    compiler: str
    macs: int = 0
    instructions: int = 0
    instructions_per_mac: float | None = None
    cycle_sum: int | None = None
    code_bytes: int = 0
    table_bytes: int = 0
    weights_bytes: int = 0
    flash_bytes: int = 0
    arena_bytes: int = 0
    stack_bytes: int = 0
    ram_bytes: int = 0
    error: str | None = None

    def json(self) -> dict[str, object]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, object]) -> Row:
        return cls(**{field.name: values[field.name] for field in fields(cls)})  # type: ignore[arg-type]


COMPARED = (
    "instructions",
    "cycle_sum",
    "code_bytes",
    "table_bytes",
    "weights_bytes",
    "flash_bytes",
    "arena_bytes",
    "stack_bytes",
    "ram_bytes",
)
"""The figures of a row that may not grow."""


def measure_model(name: str, board_name: str, toolchain: str = "gcc") -> Row:
    """The row of a model of the catalogue; a model that the board cannot take gets a row that says why."""
    board = load_board(board_name)
    try:
        return measure_graph(load(model_path(name)), name, board, toolchain)
    except TinyDeployError as error:
        return Row(
            name, board.name, board.chip.cpu, toolchain, error=error.what.split("; ")[0].splitlines()[0]
        )


def measure_graph(graph: Graph, name: str, board: Board, toolchain: str = "gcc") -> Row:
    """The row of a graph as a front end makes it; raises TinyDeployError where the board cannot take it."""
    compiled = compile_graph(graph, target_of(board.chip.cpu))
    prefix, macs = compiled.library.prefix, compiled.library.macs
    with tempfile.TemporaryDirectory(prefix="tinydeploy-bench-") as folder:
        compiler = select(toolchain, cpu_spec(board.chip.cpu))
        built = build_model(compiled, board, compiler, Path(folder))
        elf = built.firmware.elf
        with connect(Source(board, emulate=True), elf) as client:
            count = count_run(client, compiled)
        cycle_sum = None
        if can_sum_cycles(board):
            warm_up, sample = measuring_samples(compiled)
            cycle_sum = sum_cycles(board, elf, prefix, [warm_up], sample, by_step=False).run.cycle_sum
        figures = built.figures()
    sizes = {key: figures[key] for key in COMPARED if key.endswith("_bytes")}
    row = Row(
        model=name,
        board=board.name,
        core=board.chip.cpu,
        compiler=built.firmware.compiler,
        macs=macs,
        instructions=count,
        instructions_per_mac=per_mac(count, macs),
        cycle_sum=cycle_sum,
    )
    return Row.from_json({**row.json(), **sizes})


def regressions(rows: Iterable[Row], stored: Iterable[Row], tolerance: float = 0.01) -> list[str]:
    """What became worse than stored by more than ``tolerance``, or is not stored at all; one line each."""
    known = {(row.model, row.board): row for row in stored}
    found: list[str] = []
    for row in rows:
        name = f"{row.model} on {row.board}"
        before = known.get((row.model, row.board))
        if before is None:
            found.append(f"{name} is not stored")
        elif row.error is not None and before.error is None:
            found.append(f"{name} no longer works: {row.error}")
        else:
            found += [f"{name}: {line}" for line in _worse(row, before, tolerance)]
    return found


def _worse(row: Row, before: Row, tolerance: float) -> Iterable[str]:
    for key in COMPARED:
        was, now = getattr(before, key), getattr(row, key)
        if was is not None and (now is None or now > was * (1 + tolerance)):
            change = f"{now:,}, {now / was - 1:+.1%}" if now is not None and was else f"{now}"
            yield f"{key} was {was:,} and is {change}"
