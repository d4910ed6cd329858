"""docs/BOARDS.md says what building and running every board says; the second compiler once per core."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.boards.coverage import COMPILERS, DOCUMENT, document, measure, models, row_of
from tinydeploy.boards import Board, Tier, all_boards
from tinydeploy.emulate import available_emulators

BOARDS = all_boards()
ONE_PER_CORE = {board.chip.cpu: board.name for board in reversed(BOARDS)}.values()


@pytest.mark.slow
@pytest.mark.emulated
@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.name)
def test_its_row_is_what_is_measured(board: Board) -> None:
    if board.tier is Tier.RUNS and not board.is_host and not available_emulators(board):
        pytest.skip(f"no emulator of {board.name} is installed")
    line = next(
        line for line in DOCUMENT.read_text(encoding="utf-8").splitlines() if f"`{board.name}`" in line
    )
    compilers = COMPILERS if board.name in ONE_PER_CORE else COMPILERS[:1]
    row = measure(board, compilers)
    if len(compilers) == 1 and row.built_with == compilers[0]:
        row = replace(row, built_with=", ".join(COMPILERS))
    if models()[0][0] != "kws" and row.verified != "-":
        pytest.skip("the reference models are not beside the checkout; what fits was built and is bit-exact")
    assert row.line == line, "look at it, then: make boards"


def test_every_board_has_one_row_and_the_words_are_current() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    lines = {line.split("`")[1]: line for line in text.splitlines() if line.startswith("| `")}
    assert list(lines) == [board.name for board in BOARDS]
    rows = []
    for board in BOARDS:
        cells = [cell.strip() for cell in lines[board.name].strip("|").split("|")]
        built, verified = (cells[index].split(", ") if cells[index] != "-" else [] for index in (4, 7))
        rows.append(row_of(board, tuple(built), tuple(verified)))
    assert text == document(rows), "make boards"


def test_a_board_that_is_said_to_run_has_an_emulator_and_no_other_has() -> None:
    for board in BOARDS:
        assert bool(board.emulators) == (board.tier is Tier.RUNS), board.name
