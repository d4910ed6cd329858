"""What all tests share: golden files, and the rule that CI skips nothing that it could run."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Generator
from pathlib import Path
from typing import Protocol

import pytest

TESTS = Path(__file__).resolve().parent
GOLDEN = TESTS / "golden"
SHOWN_LINES = 60


class Golden(Protocol):
    """Compare ``text`` with the stored one, or store it under ``--update-golden``.

    The file is ``golden/FOLDER/MODULE/TEST.txt``, named after the test; ``path`` chooses another one.
    """

    def __call__(self, text: str, *, path: Path | None = None) -> None: ...


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="store what the tests get as golden")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """The comparison of a text with the golden file of this test."""

    def check(text: str, *, path: Path | None = None) -> None:
        stored = path or golden_path(request.path, request.node.name)
        if request.config.getoption("--update-golden"):
            stored.parent.mkdir(parents=True, exist_ok=True)
            stored.write_text(text, encoding="utf-8", newline="\n")
            return
        advice = "look at the difference, then run: pytest --update-golden"
        if not stored.is_file():
            pytest.fail(f"{stored} does not exist; {advice}", pytrace=False)
        wanted = stored.read_text(encoding="utf-8")
        if text != wanted:
            lines = difflib.unified_diff(
                wanted.splitlines(), text.splitlines(), str(stored), "now", lineterm="", n=2
            )
            shown = "\n".join([*lines][:SHOWN_LINES])
            pytest.fail(f"{stored} is not what the test gets; {advice}\n{shown}", pytrace=False)

    return check


def golden_path(module: Path, test: str) -> Path:
    """Where the golden file of a test lies; characters that file systems refuse become ``-``."""
    folder = module.relative_to(TESTS).with_suffix("")
    parts = [part.removeprefix("test_") for part in folder.parts if part != GOLDEN.name]
    name = re.sub(r"[^A-Za-z0-9_.]+", "-", test.removeprefix("test_")).strip("-")
    return GOLDEN.joinpath(*parts, f"{name}.txt")


def forbidden_skip(reason: str, *, emulated: bool, in_ci: bool) -> str | None:
    """Why a skip is a failure, or None where it may stand.

    Every skip says why. In CI, where everything that can be installed is, a board that was not emulated or
    an oracle that was not asked is a test that did not happen.
    """
    reason = reason.removeprefix("Skipped: ").strip()
    if reason in ("", "unconditional skip", "Skipped"):
        return "this test is skipped without a reason"
    if in_ci and emulated:
        return f"CI skips no emulated board: {reason}"
    if in_ci and re.search(r"tflite[-_]micro", reason):
        return f"CI skips no comparison with tflite-micro: {reason}"
    return None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if not hasattr(report, "wasxfail"):
        _fail_forbidden_skip(report, emulated=item.get_closest_marker("emulated") is not None)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A whole module that skips itself; below ``tests/emulated`` all of it needs a board."""
    report = yield
    _fail_forbidden_skip(report, emulated=TESTS / "emulated" in collector.path.parents)
    return report


def _fail_forbidden_skip(report: pytest.TestReport | pytest.CollectReport, *, emulated: bool) -> None:
    if report.outcome != "skipped" or not isinstance(report.longrepr, tuple):
        return
    problem = forbidden_skip(str(report.longrepr[2]), emulated=emulated, in_ci=bool(os.environ.get("CI")))
    if problem is not None:
        report.outcome = "failed"
        report.longrepr = f"{report.longrepr[0]}:{report.longrepr[1]}: {problem}"
