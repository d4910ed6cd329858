"""docs/BOARDS.md: every board built, checked and, where an emulator is at hand, run against the reference.

``python -m tests.boards.coverage`` writes it; tests/boards/test_coverage.py measures each row again.
"""

from __future__ import annotations

import functools
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conftest import TESTS
from tests.shared_data import mlperf_model
from tests.tflite_builder import ModelBuilder
from tinydeploy import demo
from tinydeploy.boards import Board, Tier, all_boards
from tinydeploy.build import Compiled, compile_graph
from tinydeploy.device import Build, build_model, emulated, verify_device
from tinydeploy.emulate import available_emulators
from tinydeploy.errors import BudgetError, ToolError
from tinydeploy.flash.select import flashers_for
from tinydeploy.frontends import load
from tinydeploy.frontends.tflite import load_bytes
from tinydeploy.ir import Graph
from tinydeploy.kernels.targets import target_of
from tinydeploy.toolchain import CPUS, available, select
from tinydeploy.verify import make_samples

DOCUMENT = TESTS.parent / "docs" / "BOARDS.md"
COMPILERS = ("gcc", "zig")
SAMPLES = 2
NONE = "-"
COLUMNS = ("board", "core", "RAM / flash, KiB", "tier", "built with", "runs under", "flashed by", "bit-exact")
HEAD = """# Boards

Made by `make boards`, which builds an image for each board with each compiler, checks its structure, runs it
unmodified in the board's emulator and compares every row that its kernels write with the reference. The tests
measure the rows again. [board_files.md](board_files.md) says how to add a board.

| tier | what it means |
| --- | --- |
| runs | the unmodified image runs in an emulator, on every change |
| builds | the image is built and its structure checked on every change; untested on hardware |
| library | exports for the vendor's own tools; no firmware of ours |

No board of this table was tried as hardware so far. *Flashed by* names the ways to flash a board, best first;
in brackets those whose command lines alone are tested. *Bit-exact* names the largest model of these that
fits, run with each compiler: the keyword spotter of MLPerf Tiny (`kws`), the digit classifier of
`tinydeploy demo`, and a convolution with a dense layer for the smallest chips (`tiny`).
"""


@dataclass(frozen=True, slots=True)
class Row:
    """What is known of one board; the words of its line in the document."""

    name: str
    title: str
    core: str
    memory: str
    tier: str
    built_with: str
    runs_under: str
    flashed_by: str
    verified: str

    @property
    def line(self) -> str:
        cells = (
            f"`{self.name}` {self.title}",
            self.core,
            self.memory,
            self.tier,
            self.built_with,
            self.runs_under,
            self.flashed_by,
            self.verified,
        )
        return "| " + " | ".join(cells) + " |"


def tiny() -> Graph:
    """Some 2 KB of weights and less than 1 KB of activations."""
    builder = ModelBuilder(seed=7).input((1, 8, 8, 2))
    builder.conv2d(8, (3, 3), stride=(2, 2)).reshape((1, 4 * 4 * 8)).fully_connected(10)
    return load_bytes(builder.softmax().output().build(), "tiny")


@functools.cache
def models() -> tuple[tuple[str, Graph], ...]:
    """Names and graphs, the largest first; kws only where the reference models are beside the checkout."""
    found = [("digits", load(demo.model_path())), ("tiny", tiny())]
    kws = mlperf_model("kws")
    return (("kws", load(kws)), *found) if kws.is_file() else tuple(found)


@functools.cache
def _compiled(name: str, core: str) -> Compiled:
    return compile_graph(dict(models())[name], target_of(core))


def build_largest(board: Board, compiler: str, folder: Path) -> tuple[str, Build]:
    """The image of the largest model that fits the board; raises BudgetError where none does."""
    problem: BudgetError | None = None
    for name, _ in models():
        try:
            tools = select(compiler, CPUS[board.chip.cpu])
            return name, build_model(_compiled(name, board.chip.cpu), board, tools, folder / name, trace=True)
        except BudgetError as error:
            problem = error
    assert problem is not None
    raise problem


def measure(board: Board, compilers: Sequence[str] = COMPILERS) -> Row:
    """Build, check and run a board with every compiler of these that is installed."""
    built: list[str] = []
    verified: set[str] = set()
    runs = available_emulators(board) if board.tier is Tier.RUNS and not board.is_host else ()
    for compiler in compilers if board.chip.is_buildable and not board.is_host else ():
        if compiler not in available(CPUS[board.chip.cpu]):
            continue
        with tempfile.TemporaryDirectory(prefix="tinydeploy-") as folder:
            name, build = build_largest(board, compiler, Path(folder))
            built.append(compiler)
            if runs:
                _verify(board, build)
                verified.add(name)
    return row_of(board, tuple(built), tuple(sorted(verified)))


def _verify(board: Board, build: Build) -> None:
    """Raise ToolError where one bit of one row differs."""
    with emulated(board, build.firmware.elf) as client:
        found = verify_device(client, build.compiled, make_samples(build.compiled.graph, SAMPLES))
    if not found.bit_exact:
        raise ToolError(f"differs from the reference: {found.first_bad_step}", where=f"board {board.name}")


def row_of(board: Board, built: tuple[str, ...], verified: tuple[str, ...]) -> Row:
    """A board's row from its file and from what was measured."""
    chip = board.chip
    emulators = dict.fromkeys(choice.kind for choice in board.emulators)
    tools = dict.fromkeys((found.name, found.is_tested) for found in flashers_for(board))
    flashed = [name if tested else f"({name})" for name, tested in tools]
    return Row(
        name=board.name,
        title=board.title,
        core=chip.cpu,
        memory=NONE if chip.is_host else f"{chip.ram_bytes // 1024} / {chip.flash_bytes // 1024}",
        tier=board.tier.value,
        built_with=", ".join(built) or NONE,
        runs_under=", ".join(emulators) or NONE,
        flashed_by=", ".join(flashed) or NONE,
        verified=", ".join(verified) or NONE,
    )


def document(rows: list[Row]) -> str:
    """The text of docs/BOARDS.md."""
    counts = [f"{sum(row.tier == tier.value for row in rows)} {tier.value}" for tier in Tier]
    table = [f"| {' | '.join(COLUMNS)} |", "|" + " --- |" * len(COLUMNS), *(row.line for row in rows)]
    return f"{HEAD}\n{len(rows)} boards: {', '.join(counts)}.\n\n" + "\n".join(table) + "\n"


def main() -> None:
    rows = []
    for board in all_boards():
        print(board.name, file=sys.stderr)
        rows.append(measure(board))
    DOCUMENT.write_text(document(rows), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
