"""``python -m benchmarks``: measure models on boards, store the rows, write the document's tables."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from benchmarks.measure import Row, measure_model, regressions
from benchmarks.models import MODELS, emulated_boards, present_models
from benchmarks.peers import load_peers
from benchmarks.results import load_results, save_results
from benchmarks.table import render, write_document


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure; rows that are not measured this time keep their stored figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--models", help=f"some of {', '.join(MODELS)}, separated by commas")
    parser.add_argument("--boards", help="names of boards, separated by commas")
    parser.add_argument("--toolchain", default="gcc", help="gcc (stored) or zig (printed only)")
    parser.add_argument("--dry-run", action="store_true", help="print only")
    options = parser.parse_args(arguments)
    models = options.models.split(",") if options.models else list(present_models())
    boards = options.boards.split(",") if options.boards else [board.name for board in emulated_boards()]
    stored = load_results()
    rows = measure_all(models, boards, options.toolchain)
    print(render(rows, load_peers()))
    known = {(row.model, row.board) for row in stored}
    for line in regressions([row for row in rows if (row.model, row.board) in known], stored):
        print(f"worse: {line}")
    if options.dry_run or options.toolchain != "gcc":
        return
    merged = merge(rows, stored)
    save_results(merged)
    write_document(merged, load_peers())
    print(f"stored {len(rows)} rows of {len(merged)}")


def measure_all(models: Sequence[str], boards: Sequence[str], toolchain: str) -> list[Row]:
    """Every model on every board, as many at a time as there are processors."""
    pairs = [(model, board) for board in boards for model in models]
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(measure_model, model, board, toolchain) for model, board in pairs]
        return [job.result() for job in jobs]


def merge(rows: Sequence[Row], stored: Sequence[Row]) -> list[Row]:
    """Stored rows with those measured in their place, boards by name, models in their order."""
    found = {(row.board, row.model): row for row in (*stored, *rows)}
    order = {name: index for index, name in enumerate(MODELS)}
    return sorted(found.values(), key=lambda row: (row.board, order.get(row.model, len(order))))


if __name__ == "__main__":
    main()
