"""``tinydeploy mlperf``: the benchmarks in one command."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from mlperf_tiny.accuracy import Accuracy, OpenDut, run_accuracy
from mlperf_tiny.catalogue import Bench, InputKind, Metric, bench_of, catalogue, model_path
from mlperf_tiny.dataset import TRUTH_FILE, read_dataset
from mlperf_tiny.devices import dut_at, emulated_dut
from mlperf_tiny.dut import Mode
from mlperf_tiny.fetch import fetch_model
from mlperf_tiny.firmware import BenchBuild, build_bench, compile_bench
from mlperf_tiny.official import WINDOW_WALL_S, pty_of, run_official
from mlperf_tiny.performance import Performance, run_performance, runs_per_window
from mlperf_tiny.report import Row, html, markdown, measure_bench, recorded_accuracy
from mlperf_tiny.session import Session
from mlperf_tiny.source_tree import source_tree
from mlperf_tiny.streaming import Detections, judge, read_recordings, stream
from mlperf_tiny.submit import find_runs, read_system, write_submission
from tinydeploy.boards import Board, load_board
from tinydeploy.build import write_files
from tinydeploy.cli import console
from tinydeploy.cli.options import BoardName, Compiler, Emulate, Json, Port
from tinydeploy.emulate import start_emulator
from tinydeploy.errors import TinyDeployError
from tinydeploy.staging import staged
from tinydeploy.toolchain import cpu_spec, select

app = typer.Typer(
    help="MLPerf Tiny v1.4: fetch models, build firmware, run accuracy and performance mode.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

BenchName = Annotated[
    str, typer.Option("--bench", metavar="ID", help="kws01, vww01, ic01, ic02, ad01, sww01.")
]
Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="The data sets, as the official runner takes them."),
]
Models = Annotated[
    Path | None, typer.Option("--models", metavar="DIR", help="The models' folder, by default the cache.")
]
Output = Annotated[
    Path, typer.Option("-o", "--output", metavar="DIR", help="Folder of the run; it can go on.")
]
Samples = Annotated[int | None, typer.Option("--samples", min=1, help="Only the first N inputs.")]
Devices = Annotated[
    int, typer.Option("--devices", min=1, max=64, help="Emulated boards that share the work.")
]


@app.command()
def fetch(
    bench: Annotated[str | None, typer.Option("--bench", metavar="ID", help="Only this one.")] = None,
    source: Annotated[
        Path | None, typer.Option("--from", metavar="DIR", help="Copy from a folder or a checkout.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Bring the benchmarks' models into the cache, their hashes checked.

    Example: tinydeploy mlperf fetch --from ~/tiny
    """
    chosen = catalogue() if bench is None else (bench_of(bench),)
    paths: dict[str, object] = {}
    for found in chosen:
        with console.progress(f"fetching {found.file}", 100) as shown:
            path = fetch_model(found, source, lambda done, total: shown(100 * done // total if total else 0))
        paths[found.id] = str(path)
    rows = [[name, path] for name, path in paths.items()]
    console.result({"models": paths}, as_json=as_json, text=console.table("models", rows))


@app.command()
def firmware(
    bench: BenchName,
    board: BoardName,
    mode: Annotated[str, typer.Option("--mode", metavar="performance|energy")] = "performance",
    output: Output = Path("build/mlperf"),
    models: Models = None,
    vendor: Annotated[str, typer.Option("--vendor", help="The name that the device answers.")] = "tinydeploy",
    emulate: Emulate = False,
    toolchain: Compiler = None,
    as_json: Json = False,
) -> None:
    """Build a benchmark's firmware, to be flashed with `tinydeploy flash FILE.elf --board B`.

    Performance firmware serves accuracy mode too. Example: tinydeploy mlperf firmware --bench kws01
    --board nucleo-f746
    """
    found = bench_of(bench)
    if mode not in [known.value for known in Mode]:
        raise TinyDeployError(f"there is no mode {mode!r}", where="--mode", fix="Give performance or energy")
    with staged(output) as work:
        built = _build(found, load_board(board), toolchain, models, work, Mode(mode), vendor, emulate)
    built = replace(built, firmware=built.firmware.moved(work, output))
    figures = {
        "bench": found.id,
        "board": built.board.name,
        "mode": mode,
        "elf": str(built.firmware.elf),
        "flash_bytes": built.firmware.sizes.flash_bytes,
        "cycles_are": built.cycles_are,
    }
    console.result(figures, as_json=as_json, text=console.table(found.title, list(figures.items())))


@app.command()
def accuracy(
    bench: BenchName,
    board: BoardName,
    data: Data = None,
    emulate: Emulate = False,
    port: Port = None,
    samples: Samples = None,
    devices: Devices = 2,
    models: Models = None,
    output: Output = Path("build/mlperf/accuracy"),
    toolchain: Compiler = None,
    as_json: Json = False,
) -> None:
    """Run a benchmark's data set through the device; Top-1 or AUC.

    Example: tinydeploy mlperf accuracy --board qemu-m4 --emulate --bench kws01 --data datasets
    """
    found = bench_of(bench)
    with _duts(found, load_board(board), emulate, port, models, toolchain, devices) as (opened, _):
        measured = _accuracy(found, opened, data, samples, output, board, emulate)
    console.result(measured.as_json(), as_json=as_json, text=_accuracy_text(measured, board))
    if measured.complete and not measured.passed:
        raise typer.Exit(console.ANSWER_IS_NO)


@app.command()
def run(
    board: BoardName,
    bench: Annotated[
        list[str] | None, typer.Option("--bench", metavar="ID", help="May be repeated; by default all.")
    ] = None,
    data: Data = None,
    emulate: Emulate = False,
    port: Port = None,
    samples: Samples = None,
    devices: Devices = 2,
    models: Models = None,
    output: Output = Path("build/mlperf"),
    toolchain: Compiler = None,
    as_json: Json = False,
) -> None:
    """Performance of every benchmark, and accuracy where its data set is there.

    Example: tinydeploy mlperf run --board nucleo-f746 --emulate --data datasets
    """
    chosen = [bench_of(name) for name in bench] if bench else list(catalogue())
    if port is not None and len(chosen) != 1:
        raise TinyDeployError(
            "a device runs one benchmark", where="--port", fix="Give --bench, and flash each firmware in turn"
        )
    found: list[dict[str, object]] = []
    for each in chosen:
        with _duts(each, load_board(board), emulate, port, models, toolchain, devices) as (opened, built):
            folder = output / board / each.id
            figures = _performance(each, opened[0], built, data, folder, board, emulate).as_json()
            if _has_data(each, data) and each.metric is not Metric.DETECTIONS:
                measured = _accuracy(each, opened, data, samples, folder / "accuracy", board, emulate)
                figures |= measured.as_json()
            found.append(figures)
    columns = ["bench", "inferences_per_s", "top1", "auc", "samples", "passed"]
    rows = [[str(row.get(column, "-")) for column in columns] for row in found]
    console.result(
        {"results": found}, as_json=as_json, text=console.table(f"MLPerf Tiny on {board}", rows, columns)
    )


@app.command("stream")
def stream_(
    board: BoardName,
    truth: Annotated[
        Path, typer.Option("--truth", metavar="FILE.json", help="Recordings and their windows.")
    ],
    emulate: Emulate = False,
    port: Port = None,
    models: Models = None,
    toolchain: Compiler = None,
    as_json: Json = False,
) -> None:
    """Play recordings to the streaming wake word: when it was heard, and what was missed.

    Example: tinydeploy mlperf stream --board qemu-m4 --emulate --truth sww01/sww_short_test.json
    """
    bench = bench_of("sww01")
    recordings = read_recordings(truth)
    found: list[tuple[str, Detections]] = []
    with (
        _duts(bench, load_board(board), emulate, port, models, toolchain, 1) as (opened, _),
        opened[0](lambda _line: None) as dut,
    ):
        for recording in recordings:
            with console.progress(recording.name, len(recording.samples)) as progress:
                times = stream(dut, recording, progress)
            found.append((recording.name, judge(times, recording.windows)))
    passed = all(heard.passed for _, heard in found)
    figures = {
        "recordings": [{"recording": name, **heard.as_json()} for name, heard in found],
        "passed": passed,
    }
    text = "\n".join(_heard_text(name, heard) for name, heard in found)
    console.result(figures, as_json=as_json, text=console.printable(text))
    if not passed:
        raise typer.Exit(console.ANSWER_IS_NO)


@app.command()
def official(
    runner: Annotated[
        Path, typer.Argument(help="A checkout of mlcommons/tiny, or its folder benchmark/runner.")
    ],
    bench: BenchName,
    board: BoardName,
    mode: Annotated[str, typer.Option("--mode", metavar="accuracy|performance")] = "accuracy",
    data: Data = None,
    emulate: Emulate = False,
    port: Port = None,
    models: Models = None,
    output: Output = Path("build/mlperf/official"),
    toolchain: Compiler = None,
    as_json: Json = False,
) -> None:
    """Let the official runner, unmodified, judge a device: on a port, or on an emulated board.

    Example: tinydeploy mlperf official ~/tiny --bench kws01 --board qemu-m4 --emulate --data datasets
    """
    found, target = bench_of(bench), load_board(board)
    if mode not in ("accuracy", "performance"):
        raise TinyDeployError(
            f"there is no mode {mode!r}", where="--mode", fix="Give accuracy or performance"
        )
    if data is None and mode == "accuracy":
        raise TinyDeployError("accuracy needs a data set", where=found.id, fix="Give --data DIR")
    with _duts(found, target, emulate, port, models, toolchain, 1) as (opened, built):
        folder = data or _one_input(output / "data", found, built)
        runs = 1
        if mode == "performance":
            with opened[0](lambda _line: None) as dut:
                runs = runs_per_window(dut, _first_input(found, folder, built))
        with _line_for(port, target, built, mode) as (path, baud):
            judged = run_official(
                runner,
                found,
                mode,
                path,
                folder,
                output,
                baud=baud,
                runs=runs,
                warm_ups=0 if mode == "accuracy" else 5,
                echo=lambda line: typer.echo(console.printable(line), err=True),
            )
    figures: dict[str, object] = {
        "bench": found.id,
        "mode": mode,
        "passed": judged.passed,
        "results": str(judged.results),
        "runs_per_window": runs,
    }
    text = console.printable(judged.results.read_text(encoding="utf-8").strip())
    console.result(figures, as_json=as_json, text=text)
    if not judged.passed:
        raise typer.Exit(console.ANSWER_IS_NO)


@app.command()
def submit(
    organization: Annotated[str, typer.Option("--org", metavar="NAME", help="The submitter.")],
    system: Annotated[
        list[Path], typer.Option("--system", metavar="S.json", help="A board's description, one per --board.")
    ],
    board: Annotated[list[str], typer.Option("--board", metavar="NAME", help="A board that was run.")],
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR", help="The tree; a new folder.")],
    runs: Annotated[
        Path, typer.Option("--runs", metavar="DIR", help="The output folder of `mlperf run`.")
    ] = Path("build/mlperf"),
    models: Models = None,
    vendor: Annotated[str, typer.Option("--vendor", help="The name that the device answers.")] = "tinydeploy",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Take emulated results, marked as such.")
    ] = False,
    toolchain: Compiler = None,
    as_json: Json = False,
) -> None:
    """Write a closed-division submission from finished runs: systems, code, results, checklist.

    Example: tinydeploy mlperf submit --org me --board nucleo-f746 --system f746.json -o submission
    """
    if len(system) != len(board):
        raise TinyDeployError(
            f"{len(system)} systems and {len(board)} boards are given", fix="Give one --system per --board"
        )
    systems = {name: read_system(path) for name, path in zip(board, system, strict=True)}
    found = [run for name in board for run in find_runs(runs, name)]
    code: dict[str, dict[str, str]] = {}
    for run in found:
        if run.bench.id not in code:
            with tempfile.TemporaryDirectory(prefix="tinydeploy-") as folder:
                built = _build(
                    run.bench,
                    load_board(run.board),
                    toolchain,
                    models,
                    Path(folder),
                    Mode.PERFORMANCE,
                    vendor,
                    run.emulated,
                )
                code[run.bench.id] = source_tree(built, vendor)
    tree = write_submission(organization, systems, found, code, output, dry_run=dry_run)
    rows = [[run.bench.id, run.board, "emulated" if run.emulated else "measured"] for run in found]
    figures = {"tree": str(tree), "runs": rows, "emulated": any(run.emulated for run in found)}
    console.result(
        figures, as_json=as_json, text=console.table(f"wrote {tree}", rows, ("bench", "board", "results"))
    )


@app.command()
def report(
    board: Annotated[
        list[str], typer.Option("--board", metavar="NAME", help="An emulated board; repeatable.")
    ],
    bench: Annotated[
        list[str] | None, typer.Option("--bench", metavar="ID", help="May be repeated; by default all.")
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE.html|FILE.md", help="The page.")
    ] = Path("mlperf.html"),
    runs: Annotated[
        Path, typer.Option("--runs", metavar="DIR", help="The output of `mlperf run`, for accuracies.")
    ] = Path("build/mlperf"),
    models: Models = None,
    toolchain: Compiler = None,
    as_json: Json = False,
) -> None:
    """Instructions, cycles, accuracy, RAM and flash of benchmarks, beside the best published results.

    Example: tinydeploy mlperf report --board qemu-m4 --board nucleo-f746 -o mlperf.html
    """
    chosen = [bench_of(name) for name in bench] if bench else list(catalogue())
    rows: list[Row] = []
    with console.progress("measuring", len(board) * len(chosen)) as progress:
        for name in board:
            for each in chosen:
                reached = recorded_accuracy(runs / name / each.id)
                rows.append(measure_bench(each, load_board(name), models, toolchain, reached))
                progress(len(rows))
    page = markdown(rows) if output.suffix == ".md" else html(rows)
    write_files({output.name: page}, output.parent)
    console.result({"rows": [row.as_json() for row in rows]}, as_json=as_json, text=markdown(rows))


def _has_data(bench: Bench, data: Path | None) -> bool:
    return data is not None and (data / bench.dataset / TRUTH_FILE).is_file()


def _heard_text(name: str, heard: Detections) -> str:
    times = ", ".join(f"{time:.2f} s" for time in heard.times_s) or "no time"
    return (
        f"{name}: heard at {times}; {heard.true_positives} true positives, "
        f"{heard.false_negatives} false negatives, {heard.false_positives} false positives"
    )


def _accuracy_text(measured: Accuracy, board: str) -> str:
    name = "AUC" if measured.bench.metric is Metric.AUC else "Top-1"
    value = (
        f"{measured.value:.3f}" if measured.bench.metric is Metric.AUC else f"{100 * measured.value:.1f} %"
    )
    verdict = "passed" if measured.passed else "below the threshold"
    scope = "" if measured.complete else f" (the rules ask for {measured.bench.samples})"
    return f"{measured.bench.id} on {board}: {name} {value} over {measured.samples} inputs{scope}, {verdict}"


def _build(
    bench: Bench,
    board: Board,
    toolchain: str | None,
    models: Path | None,
    folder: Path,
    mode: Mode,
    vendor: str,
    emulated: bool,
) -> BenchBuild:
    compiler = select(toolchain, cpu_spec(board.chip.cpu))
    compiled = compile_bench(bench, model_path(bench, models), board)
    return build_bench(bench, compiled, board, compiler, folder, mode=mode, vendor=vendor, emulated=emulated)


@contextmanager
def _duts(
    bench: Bench,
    board: Board,
    emulate: bool,
    port: str | None,
    models: Path | None,
    toolchain: str | None,
    devices: int,
) -> Iterator[tuple[list[OpenDut], BenchBuild | None]]:
    """Emulated devices with a fresh image, or the one behind the port."""
    if emulate == (port is not None):
        raise TinyDeployError(
            f"it is not said how to reach {board.name}", fix="Give either --emulate or --port"
        )
    if port is not None:
        yield [dut_at(port, board.uart.baud if board.uart else 115200)], None
        return
    with tempfile.TemporaryDirectory(prefix="tinydeploy-") as folder:
        built = _build(
            bench, board, toolchain, models, Path(folder), Mode.PERFORMANCE, "tinydeploy", emulated=True
        )
        yield [emulated_dut(board, built.firmware.elf)] * devices, built


def _identity(bench: Bench, board: str, mode: str, emulate: bool) -> dict[str, object]:
    return {"bench": bench.id, "model": bench.sha256, "board": board, "mode": mode, "emulated": emulate}


def _accuracy(
    bench: Bench,
    opened: list[OpenDut],
    data: Path | None,
    samples: int | None,
    output: Path,
    board: str,
    emulate: bool,
) -> Accuracy:
    if bench.metric is Metric.DETECTIONS:
        raise TinyDeployError(f"{bench.id} is judged on a stream", fix="Use: tinydeploy mlperf stream")
    if data is None:
        raise TinyDeployError("accuracy needs a data set", where=bench.id, fix="Give --data DIR")
    entries = read_dataset(bench, data, samples)
    with (
        Session(output, _identity(bench, board, "accuracy", emulate)) as session,
        console.progress(f"{bench.id} accuracy", len(entries)) as progress,
    ):
        return run_accuracy(bench, entries, opened, session, progress)


def _performance(
    bench: Bench,
    opened: OpenDut,
    built: BenchBuild | None,
    data: Path | None,
    output: Path,
    board: str,
    emulate: bool,
) -> Performance:
    cycles_are = built.cycles_are if built is not None else "measured"
    with (
        Session(output / "performance", _identity(bench, board, "performance", emulate)) as session,
        console.progress(f"{bench.id} performance", 5) as progress,
    ):
        return run_performance(bench, _first_input(bench, data, built), opened, session, cycles_are, progress)


def _first_input(bench: Bench, data: Path | None, built: BenchBuild | None) -> bytes:
    """The first input of the data set; where it is not there, a random one of its kind."""
    if data is not None and _has_data(bench, data):
        with suppress(TinyDeployError):  # labels may be there without the files
            return next(iter(read_dataset(bench, data, 1)[0].inputs()))
    graph = built.compiled.graph if built is not None else None
    elements = graph.type(graph.inputs[0]).elements if graph is not None else _ELEMENTS[bench.id]
    generator = np.random.default_rng(0)
    if bench.input is InputKind.FLOATS:
        return generator.normal(-20.0, 5.0, elements).astype("<f4").tobytes()
    return generator.integers(0, 256, elements, dtype=np.uint8).tobytes()


@contextmanager
def _line_for(
    port: str | None, board: Board, built: BenchBuild | None, mode: str
) -> Iterator[tuple[str, int]]:
    """What the official runner opens: the port, or a pseudo terminal in front of an emulated board."""
    if port is not None or built is None:
        yield port or "", board.uart.baud if board.uart else 115200
        return
    hold_s = WINDOW_WALL_S if mode == "performance" else 0.0
    with start_emulator(board, built.firmware.elf) as emulator, pty_of(emulator.uart, hold_s=hold_s) as path:
        yield path, 115200


def _one_input(folder: Path, bench: Bench, built: BenchBuild | None) -> Path:
    """A data set of five equal random inputs, for windows of performance without the official files."""
    base = folder / bench.dataset
    base.mkdir(parents=True, exist_ok=True)
    data = _first_input(bench, None, built)
    (base / "random.bin").write_bytes(data)
    extra = f",{len(data)},{len(data)}" if bench.input is InputKind.FLOATS else ""
    line = f"random.bin,{len(bench.labels)},0{extra}\n"
    (base / TRUTH_FILE).write_text(line * 5, encoding="utf-8")
    return folder


_ELEMENTS = {"kws01": 490, "vww01": 27648, "ic01": 3072, "ic02": 3072, "ad01": 640, "sww01": 1200}
