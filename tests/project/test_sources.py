"""What no tool checks for us: short files, finished text, nothing of the machine it was written on."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import TESTS
from tinydeploy import __version__

ROOT = TESTS.parent
MAX_LINES = 600
FOLDERS = (".ci", "benchmarks", "boards", "docs", "mlperf_tiny", "runtime_c", "tests", "tinydeploy")
BINARY = {".npz", ".onnx", ".png", ".pyc", ".tflite"}


def _sources() -> Iterator[Path]:
    yield from (path for path in ROOT.iterdir() if path.is_file())
    for folder in FOLDERS:
        yield from (path for path in (ROOT / folder).rglob("*") if path.is_file())


TEXTS = {
    path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
    for path in sorted(_sources())
    if path.suffix not in BINARY and "__pycache__" not in path.parts
}

# Each pattern is written so that it does not match itself.
FORBIDDEN = {
    "unfinished work": r"\b(TO[D]O|FIX[M]E|X[X]X)\b",
    "a path of one machine": r"(?<![\w.*])/(wor[k]|roo[t]|hom[e])/",
    "a package registry": r"\b(pypi[.]org|pythonhosted[.]org|debian[.]org|npmjs[.]org)\b",
    "a trailing space": r"[ \t]$",
}


def test_the_sources_are_found() -> None:
    assert {"README.md", "Makefile", ".ci/run", "pyproject.toml", "tinydeploy/build.py"} <= TEXTS.keys()


def test_no_file_is_two_ideas() -> None:
    # Golden files and figures are as long as what they record, the licence is not ours.
    free = (".txt", "SUPPORTED_OPS.md", "LICENSE", "results.json")
    code = {name: text for name, text in TEXTS.items() if not name.endswith(free)}
    assert not [name for name, text in code.items() if text.count("\n") > MAX_LINES]


@pytest.mark.parametrize("what", FORBIDDEN)
def test_no_file_holds(what: str) -> None:
    pattern = re.compile(FORBIDDEN[what], re.MULTILINE)
    found = [
        f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]!r}"
        for name, text in TEXTS.items()
        if name != "LICENSE"
        for match in pattern.finditer(text)
    ]
    assert not found


def test_every_text_ends_with_one_line_end() -> None:
    assert not [name for name, text in TEXTS.items() if text and text.rstrip("\n") + "\n" != text]


def test_c_is_formatted() -> None:
    files = [name for name in TEXTS if name.endswith((".c", ".h"))]
    done = subprocess.run(
        [str(Path(sys.executable).with_name("clang-format")), "--dry-run", "-Werror", *files],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"run: make format\n{done.stderr}"


def test_the_changelog_has_the_version() -> None:
    headings = re.findall(r"^## \[?([^\]\s]+)", TEXTS["CHANGELOG.md"], re.MULTILINE)
    assert headings[0] in ("Unreleased", __version__)
    assert __version__ in headings


def test_the_version_is_said_once_more_in_pyproject() -> None:
    assert f'\nversion = "{__version__}"\n' in TEXTS["pyproject.toml"]


def test_documents_link_to_files_that_exist() -> None:
    broken = [
        f"{name}: {target}"
        for name, text in TEXTS.items()
        if name.endswith(".md")
        for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text)
        if not (ROOT / name).parent.joinpath(target).exists()
    ]
    assert not broken
