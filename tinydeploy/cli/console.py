"""What users see: results on stdout, progress and errors on stderr, one JSON object where asked for."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from tinydeploy.errors import Gap, TinyDeployError, UnsupportedError

ANSWER_IS_NO = 3
"""Exit code of a command that ran to its end and found a mismatch or a regression."""


def result(figures: dict[str, object], *, as_json: bool, text: str | Table = "") -> None:
    """Print a command's result: the figures as JSON, or text for people."""
    if as_json:
        sys.stdout.write(json.dumps(figures) + "\n")
    elif isinstance(text, Table):
        Console(file=sys.stdout, highlight=False).print(text)
    elif text:
        sys.stdout.write(text + "\n")
    sys.stdout.flush()  # a full disk behind a redirection is an error of the command


def dump(text: str, *, as_json: bool) -> None:
    """Print the text form of a stage; beside JSON it goes to stderr."""
    (sys.stderr if as_json else sys.stdout).write(text)


def failure(error: TinyDeployError, *, as_json: bool) -> None:
    """Print an error: one message on stderr, and as an object where JSON was asked for."""
    sys.stderr.write(f"error: {printable(str(error))}\n")
    said = ""
    if as_json:
        content: dict[str, object] = {"what": error.what, "where": error.where, "fix": error.fix}
        found: dict[str, object] = {"error": content}
        if isinstance(error, UnsupportedError):
            found["unsupported"] = gaps_json(error.gaps)
        said = json.dumps(found) + "\n"
    try:
        sys.stdout.write(said)
        sys.stdout.flush()
    except OSError:
        _abandon_output()


def _abandon_output() -> None:
    """Nothing more can be said on stdout; without this, the interpreter would complain at its end."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def printable(text: str) -> str:
    """Text without control characters, which names from a model may hold and terminals obey."""
    return "".join(c if c.isprintable() or c == "\n" else f"<U+{ord(c):04X}>" for c in text)


def gaps_json(gaps: Sequence[Gap]) -> list[dict[str, str]]:
    """Gaps as the JSON key ``unsupported`` holds them."""
    return [{"node": g.node, "op": g.op, "reason": g.reason, "remedy": g.remedy} for g in gaps]


def table(
    title: str, rows: Sequence[Sequence[object]], columns: Sequence[str] = (), *, whole_names: bool = False
) -> Table:
    """A table for people; without ``columns`` a list of names and values. Integers get separators.

    ``whole_names``: the first column is not broken, so that it can be copied.
    """
    shown = Table(
        title=escape(title), title_justify="left", show_header=bool(columns), box=None, pad_edge=False
    )
    for index, column in enumerate(columns or ("", "")):
        shown.add_column(column, overflow="fold", no_wrap=index == 0 and whole_names)
    for row in rows:
        shown.add_row(*(escape(_cell(cell)) for cell in row))
    return shown


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,}" if isinstance(value, int) else printable(str(value))


@contextmanager
def progress(title: str, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar on stderr where that is a terminal; yields a function that takes the number done."""
    shown = Console(stderr=True)
    if not shown.is_terminal:
        yield lambda _done: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=shown, transient=True) as bar:
        task = bar.add_task(escape(title), total=total)
        yield lambda done: bar.update(task, completed=done)


@contextmanager
def stages() -> Iterator[Callable[[str, int, int | None], None]]:
    """Progress of work in stages on stderr where that is a terminal.

    Yields a function that takes what is being done, the number done, and of how many, where that is known.
    """
    shown = Console(stderr=True)
    if not shown.is_terminal:
        yield lambda _stage, _done, _total: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=shown, transient=True) as bar:
        task = bar.add_task("", total=None)

        def tell(stage: str, done: int, total: int | None) -> None:
            bar.update(task, description=escape(stage), completed=done, total=total)

        yield tell
