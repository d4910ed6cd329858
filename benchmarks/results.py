"""``results.json``: the rows of the last ``make bench``, in the order of models and boards."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measure import Row

FILE = Path(__file__).with_name("results.json")


def load_results(path: Path = FILE) -> list[Row]:
    """The stored rows; none where nothing was measured yet."""
    if not path.is_file():
        return []
    return [Row.from_json(row) for row in json.loads(path.read_text(encoding="utf-8"))["rows"]]


def save_results(rows: Sequence[Row], path: Path = FILE) -> None:
    """Store rows, one a line, so that differences read well."""
    lines = ",\n".join(f"  {json.dumps(row.json())}" for row in rows)
    path.write_text(f'{{"rows": [\n{lines}\n]}}\n', encoding="utf-8", newline="\n")
