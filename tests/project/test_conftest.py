"""The rules of the test suite hold in a suite of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import GOLDEN, TESTS, forbidden_skip, golden_path

SUITE = """
import pytest

@pytest.mark.emulated
def test_board():
    pytest.skip("no emulator")

@pytest.mark.xfail(strict=True, reason="known")
@pytest.mark.emulated
def test_known():
    raise ValueError

def test_data():
    pytest.skip("no data here")

def test_golden(golden):
    golden("one\\ntwo\\n")
"""


def run(folder: Path, *arguments: str, ci: bool) -> tuple[int, str]:
    """Run SUITE with the real conftest; returns the exit code and what pytest said."""
    (folder / "test_suite.py").write_text(SUITE)
    (folder / "conftest.py").write_text((TESTS / "conftest.py").read_text())
    (folder / "pytest.ini").write_text("[pytest]\nmarkers =\n    emulated: needs a board\n")
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rA", *arguments],
        cwd=folder,
        env=environment | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"} | ({"CI": "true"} if ci else {}),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


def test_ci_turns_the_skip_of_a_board_into_a_failure(tmp_path: Path) -> None:
    assert run(tmp_path, "--update-golden", ci=False)[0] == 0
    code, text = run(tmp_path, ci=False)
    assert code == 0
    assert "1 passed, 2 skipped, 1 xfailed" in text
    code, text = run(tmp_path, ci=True)
    assert code == 1
    assert "CI skips no emulated board: no emulator" in text
    assert "1 failed, 1 passed, 1 skipped, 1 xfailed" in text


def test_a_golden_file_is_stored_compared_and_missed(tmp_path: Path) -> None:
    only = ("-k", "golden")
    stored = tmp_path / "golden" / "suite" / "golden.txt"
    code, text = run(tmp_path, *only, ci=False)
    assert code == 1
    assert f"{stored} does not exist; look at the difference, then run: pytest --update-golden" in text
    assert run(tmp_path, *only, "--update-golden", ci=False)[0] == 0
    assert stored.read_text() == "one\ntwo\n"
    stored.write_text("one\nthree\n")
    code, text = run(tmp_path, *only, ci=False)
    assert code == 1
    assert f"{stored} is not what the test gets" in text
    assert "-three\n+two" in text


@pytest.mark.parametrize(
    ("reason", "emulated", "in_ci", "problem"),
    [
        ("Skipped: no QEMU", True, False, None),
        ("Skipped: no QEMU", True, True, "CI skips no emulated board: no QEMU"),
        (
            "Skipped: could not import 'tflite_micro'",
            False,
            True,
            "CI skips no comparison with tflite-micro: could not import 'tflite_micro'",
        ),
        ("Skipped: no data at shared", False, True, None),
        ("Skipped: ", False, False, "this test is skipped without a reason"),
        ("unconditional skip", False, False, "this test is skipped without a reason"),
    ],
)
def test_which_skips_are_forbidden(reason: str, emulated: bool, in_ci: bool, problem: str | None) -> None:
    assert forbidden_skip(reason, emulated=emulated, in_ci=in_ci) == problem


def test_golden_files_are_named_after_their_tests() -> None:
    path = golden_path(TESTS / "codegen" / "test_names.py", "test_header[a b/c]")
    assert path == GOLDEN / "codegen" / "names" / "header-a-b-c.txt"
    assert golden_path(GOLDEN / "test_kws.py", "test_plan") == GOLDEN / "kws" / "plan.txt"
