"""What a board does with each benchmark, beside the best that is published, as a page."""

from __future__ import annotations

import re
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import jinja2

from mlperf_tiny.catalogue import Bench, model_path
from mlperf_tiny.firmware import MILLI, compile_bench, estimated_millicycles
from tinydeploy.boards import Board
from tinydeploy.device import build_model, emulated
from tinydeploy.device.measure import count_run
from tinydeploy.toolchain import cpu_spec, select


@dataclass(frozen=True, slots=True)
class Published:
    """The best published figure of a core for one benchmark, as cycles per multiply-accumulate."""

    chip: str
    cycles_per_mac: float


@dataclass(frozen=True, slots=True)
class Row:
    """A benchmark on a board. ``cycles`` and what follows from it are estimated on emulators."""

    board: str
    bench: str
    macs: int
    instructions: int
    cycles: int
    cycles_are: str
    inferences_per_s: float
    accuracy: str
    ram_bytes: int
    flash_bytes: int
    published_chip: str | None
    published_cycles_per_mac: float | None

    @property
    def cycles_per_mac(self) -> float:
        return self.cycles / self.macs

    @property
    def ratio(self) -> float | None:
        """Our cycles over the published ones."""
        best = self.published_cycles_per_mac
        return None if best is None else self.cycles_per_mac / best

    def as_json(self) -> dict[str, object]:
        ratio = self.ratio
        return {
            **asdict(self),
            "cycles_per_mac": round(self.cycles_per_mac, 3),
            "ratio": None if ratio is None else round(ratio, 3),
        }


def published(cpu: str) -> list[tuple[str, dict[str, float]]]:
    """(chip, cycles per MAC by benchmark) of every published result of a core."""
    return [(core["chip"], core["cycles_per_mac"]) for core in _published()["core"] if core["cpu"] == cpu]


def source() -> str:
    """Where the published figures are from."""
    return str(_published()["source"])


def best_published(cpu: str, bench: str) -> Published | None:
    """The lowest published figure of a core, or None."""
    found = [Published(chip, figures[bench]) for chip, figures in published(cpu) if bench in figures]
    return min(found, key=lambda one: one.cycles_per_mac, default=None)


def measure_bench(
    bench: Bench, board: Board, models: Path | None, toolchain: str | None, accuracy: str = "-"
) -> Row:
    """Build a benchmark's model for an emulated board, run it, and set it beside the best published result.

    Raises TinyDeployError where the model does not fit the board, ToolError where a tool is missing.
    """
    compiled = compile_bench(bench, model_path(bench, models), board)
    compiler = select(toolchain, cpu_spec(board.chip.cpu))
    with tempfile.TemporaryDirectory(prefix="tinydeploy-") as folder:
        build = build_model(compiled, board, compiler, Path(folder))
        figures = build.figures()
        with emulated(board, build.firmware.elf) as client:
            instructions = count_run(client, compiled)
    millicycles, origin = estimated_millicycles(compiled, board, compiler)
    cycles = instructions * millicycles // MILLI
    best = best_published(board.chip.cpu, bench.id)
    return Row(
        board=board.name,
        bench=bench.id,
        macs=compiled.library.macs,
        instructions=instructions,
        cycles=cycles,
        cycles_are=origin,
        inferences_per_s=board.clock_hz / cycles,
        accuracy=accuracy,
        ram_bytes=int(str(figures["ram_bytes"])),
        flash_bytes=int(str(figures["flash_bytes"])),
        published_chip=best.chip if best else None,
        published_cycles_per_mac=best.cycles_per_mac if best else None,
    )


def recorded_accuracy(folder: Path) -> str:
    """The figure of a finished accuracy run in a benchmark's folder of ``mlperf run``, or ``-``."""
    path = folder / "accuracy" / "results.txt"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    found = re.search(r"Top 1% = ([\d.]+)|AUC = ([\d.]+)", text)
    if found is None:
        return "-"
    return f"{found[1]} %" if found[1] else f"AUC {found[2]}"


def markdown(rows: Sequence[Row]) -> str:
    """The report as Markdown."""
    return _render("report.md.j2", rows, autoescape=False)


def html(rows: Sequence[Row]) -> str:
    """The report as one HTML page without foreign parts."""
    return _render("report.html.j2", rows, autoescape=True)


def _render(template: str, rows: Sequence[Row], *, autoescape: bool) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("mlperf_tiny"),
        undefined=jinja2.StrictUndefined,
        autoescape=autoescape,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Callable[..., str]] = {
        "count": lambda value: f"{value:,}",
        "figure": lambda value: "-" if value is None else f"{value:.2f}",
    }
    environment.filters.update(filters)
    origins = sorted({f"{row.board}: {row.cycles_are}" for row in rows})
    return environment.get_template(template).render(rows=rows, source=source(), origins=origins)


def _published() -> dict[str, Any]:
    return tomllib.loads(files("mlperf_tiny").joinpath("published.toml").read_text(encoding="utf-8"))
