"""The rows as Markdown: ours beside the peers', with ratios."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.measure import Row
from benchmarks.models import ROOT
from benchmarks.peers import Peer, Peers

DOCUMENT = ROOT / "docs" / "PERFORMANCE.md"
BEGIN = "<!-- begin: written by make bench -->"
END = "<!-- end: written by make bench -->"

_COLUMNS = (
    ("instructions", "instructions"),
    ("per MAC", "instructions_per_mac"),
    ("cycle sum", "cycle_sum"),
    ("code", "code_bytes"),
    ("tables", "table_bytes"),
    ("weights", "weights_bytes"),
    ("flash", "flash_bytes"),
    ("arena", "arena_bytes"),
    ("stack", "stack_bytes"),
    ("RAM", "ram_bytes"),
)
_COMPARED = (
    ("instructions", "instructions"),
    ("cycle_sum", "cycle sum"),
    ("code_bytes", "code, bytes"),
    ("arena_bytes", "arena, bytes"),
    ("stack_bytes", "stack, bytes"),
)


def render(rows: Sequence[Row], peers: Peers) -> str:
    """The generated part of the document."""
    boards = list(dict.fromkeys(row.board for row in rows))
    parts = [_board(board, [row for row in rows if row.board == board]) for board in boards]
    for core in dict.fromkeys(row.core for row in rows):
        if core in peers.cores:
            board, found = _fullest([row for row in rows if row.core == core and row.error is None])
            parts.append(_comparison(core, board, found, peers.cores[core]))
    return "\n".join(parts)


def _fullest(rows: Sequence[Row]) -> tuple[str, list[Row]]:
    """The board that took most models, the first one of several, and its rows."""
    boards: dict[str, list[Row]] = {}
    for row in rows:
        boards.setdefault(row.board, []).append(row)
    return max(boards.items(), key=lambda item: len(item[1]), default=("", []))


def document_with(text: str, generated: str) -> str:
    """The document with its generated part replaced; raises ValueError where the marks are missing."""
    head, rest = text.split(BEGIN, 1)
    _, tail = rest.split(END, 1)
    return f"{head}{BEGIN}\n{generated}\n{END}{tail}"


def write_document(rows: Sequence[Row], peers: Peers, path: Path = DOCUMENT) -> None:
    """Replace the generated part of the document by these rows."""
    text = document_with(path.read_text(encoding="utf-8"), render(rows, peers))
    path.write_text(text, encoding="utf-8", newline="\n")


def _board(board: str, rows: Sequence[Row]) -> str:
    compilers = ", ".join(dict.fromkeys(row.compiler for row in rows))
    lines = [f"### {board} ({rows[0].core}, {compilers})", ""]
    lines += _table(
        ("model", "MACs", *(title for title, _ in _COLUMNS)),
        [
            (row.model, _cell(row.macs), *(_cell(getattr(row, key)) for _, key in _COLUMNS))
            for row in rows
            if row.error is None
        ],
    )
    lines += [f"\n{row.model}: {row.error}." for row in rows if row.error is not None]
    return "\n".join([*lines, ""])


def _comparison(core: str, board: str, rows: Sequence[Row], peers: Sequence[Peer]) -> str:
    """For each kind of figure a table: peers' values and, in brackets, theirs over ours."""
    lines = [f"### Peers on {core}, beside {board}", ""]
    for key, title in _COMPARED:
        having = [peer for peer in peers if key in peer.figures]
        shown = [
            row for row in rows if getattr(row, key) and any(row.model in p.figures[key] for p in having)
        ]
        if not having or not shown:
            continue
        body = [("**tinydeploy**", *(f"**{_cell(getattr(row, key))}**" for row in shown))]
        body += [
            (peer.name, *(_against(peer.figures[key].get(row.model), getattr(row, key)) for row in shown))
            for peer in having
        ]
        lines += [*_table((title, *(row.model for row in shown)), body), ""]
    return "\n".join(lines)


def _against(theirs: int | None, ours: int) -> str:
    return "" if theirs is None else f"{theirs:,} ({theirs / ours:.2f}×)"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    rule = ["---", *["--:"] * (len(head) - 1)]
    return ["| " + " | ".join(cells) + " |" for cells in (head, rule, *rows)]


def _cell(value: object) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
