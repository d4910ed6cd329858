"""Running a compiler or linker: a timeout on every call, and its first error lines in one message."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tinydeploy.errors import ToolError

TIMEOUT_S = 300
SHOWN_LINES = 6
_DISK_FULL = "No space left on device"


def run_tool(
    command: Sequence[str | Path],
    *,
    doing: str,
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> str:
    """Run a command and return its standard output; ``doing`` says in the message what it was for.

    It runs in ``folder``, the current one by default.
    Raises ToolError where the program is missing, takes longer than TIMEOUT_S or ends with an error.
    """
    program = Path(command[0]).name
    try:
        done = subprocess.run(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            env={**os.environ, **env} if env else None,
            cwd=folder,
            check=False,
        )
    except OSError as error:
        raise ToolError(f"{program} cannot be started ({error.strerror})", where=doing) from error
    except subprocess.TimeoutExpired as error:
        raise ToolError(
            f"{program} did not end within {TIMEOUT_S} s", where=doing, fix="Try again on a less busy machine"
        ) from error
    if done.returncode and _DISK_FULL in done.stderr:
        raise ToolError(
            f"{program} failed: no space left on the disk",
            where=doing,
            fix="Free some, or choose another -o or TMPDIR",
        )
    if done.returncode:
        raise ToolError(f"{program} failed:\n  {_first_errors(done.stderr or done.stdout)}", where=doing)
    return done.stdout


def _first_errors(text: str) -> str:
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("collect2: ")] or lines
    errors = [line for line in lines if "error" in line or "undefined" in line or "overflow" in line]
    shown = (errors or lines)[:SHOWN_LINES]
    return "\n  ".join(shown) if shown else "it gave no reason"
