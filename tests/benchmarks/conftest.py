"""Rows measured once per session, however many tests look at them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from benchmarks.measure import Row, measure_model
from benchmarks.results import load_results

Measured = Callable[[str, str], Row]

_ROWS: dict[tuple[str, str], Row] = {}


@pytest.fixture
def measured() -> Measured:
    """``measured("kws", "qemu-m4")``: the row as it is now, with the compiler of the stored one.

    Skips, with what to do, where this machine's compiler is another than that of the stored figures: exact
    counts and bytes then differ for no fault of the code.
    """

    def row(model: str, board: str) -> Row:
        if (model, board) not in _ROWS:
            _ROWS[model, board] = measure_model(model, board)
        found = _ROWS[model, board]
        stored = next((s for s in load_results() if (s.model, s.board) == (model, board)), None)
        if stored is not None and found.error is None and stored.compiler != found.compiler:
            pytest.skip(
                f"results.json was measured with {stored.compiler}, here is {found.compiler}: run make bench"
            )
        return found

    return row
