"""A closed-division tree of rules v1.4 from runs of this kit: systems, code, results, checklist."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mlperf_tiny.catalogue import Bench, Metric, catalogue
from mlperf_tiny.session import ANSWERS
from tinydeploy.errors import TinyDeployError

FILES = ("log.txt", "results.txt", "results.json")
STATUSES = ("available", "preview", "rdi")
NEEDED = ("Status", "Board Name", "Processor(s) Name", "Processor(s) Frequencies", "Inference Framework")
MARK = "EMULATED, NOT A SUBMISSION"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


@dataclass(frozen=True, slots=True)
class Run:
    """The recorded runs of one benchmark on one board."""

    bench: Bench
    board: str
    folder: Path
    emulated: bool


def find_runs(folder: Path, board: str) -> tuple[Run, ...]:
    """The runs of a board under the output folder of ``mlperf run``.

    Raises TinyDeployError where there is none, or one is not finished.
    """
    base = folder / board
    found: list[Run] = []
    for bench in catalogue():
        parts = [base / bench.id / part for part in _parts(bench)]
        if not any(part.is_dir() for part in parts):
            continue
        missing = [str(part / name) for part in parts for name in FILES if not (part / name).is_file()]
        if missing:
            raise TinyDeployError(
                f"the run of {bench.id} is not finished", where=missing[0], fix="Run: tinydeploy mlperf run"
            )
        found.append(Run(bench, board, base / bench.id, any(_is_emulated(part) for part in parts)))
    if not found:
        raise TinyDeployError("holds no runs", where=str(base), fix="Run: tinydeploy mlperf run -o DIR")
    return tuple(found)


def read_system(path: Path) -> dict[str, Any]:
    """A system description; raises TinyDeployError that names what it lacks."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TinyDeployError(f"is not a system description: {error}", where=str(path)) from None
    if not isinstance(content, dict):
        raise TinyDeployError("is not a JSON object", where=str(path))
    missing = [key for key in NEEDED if not isinstance(content.get(key), str) or not content[key].strip()]
    if missing:
        raise TinyDeployError(f"lacks {', '.join(missing)}", where=str(path), fix="Add them as text")
    if content["Status"].lower() not in STATUSES:
        raise TinyDeployError(
            f"has the status {content['Status']!r}", where=str(path), fix=f"Give one of {', '.join(STATUSES)}"
        )
    return content


def write_submission(
    organization: str,
    systems: dict[str, dict[str, Any]],
    runs: Sequence[Run],
    code: dict[str, dict[str, str]],
    output: Path,
    *,
    dry_run: bool = False,
) -> Path:
    """Write the tree under ``output``, whole or not at all; returns ``output``.

    ``systems`` maps a board to its description, ``code`` a benchmark's id to its sources. Emulated runs are
    refused, except for a dry run, which marks them.
    """
    emulated = sorted({run.board for run in runs if run.emulated})
    if emulated and not dry_run:
        raise TinyDeployError(
            f"the results of {', '.join(emulated)} are from an emulator",
            fix="Run the benchmarks on the board, or give --dry-run to see the tree",
        )
    if not _NAME.fullmatch(organization):
        raise TinyDeployError(
            f"{organization!r:.40} is not a folder's name", where="--org", fix="Use letters, digits, - and _"
        )
    if output.exists() and any(output.iterdir()):
        raise TinyDeployError("is not empty", where=str(output), fix="Choose another -o")
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent, prefix=".tinydeploy-") as temporary:
        root = Path(temporary) / "tree"
        base = root / "closed" / organization
        for board, system in systems.items():
            _write(
                base / "systems" / f"{board}.json", json.dumps(_marked(system, board in emulated), indent=2)
            )
        for run in runs:
            for part in _parts(run.bench):
                for name in FILES:
                    target = base / "results" / run.board / run.bench.tree / part / name
                    _write(target, (run.folder / part / name).read_text(encoding="utf-8"))
        for bench_id, sources in code.items():
            tree = next(run.bench.tree for run in runs if run.bench.id == bench_id)
            for name, text in sources.items():
                _write(base / "code" / tree / "tinydeploy" / name, text)
        _write(base / "checklist.md", _checklist(organization, runs))
        if output.exists():
            output.rmdir()
        os.replace(root, output)
    return output


def _parts(bench: Bench) -> tuple[str, ...]:
    """The runs that the rules ask for."""
    return ("performance",) if bench.metric is Metric.DETECTIONS else ("accuracy", "performance")


def _is_emulated(folder: Path) -> bool:
    with (folder / ANSWERS).open(encoding="utf-8") as stream:
        return bool(json.loads(stream.readline()).get("emulated", True))


def _marked(system: dict[str, Any], emulated: bool) -> dict[str, Any]:
    if not emulated:
        return system
    notes = f"{MARK}. {system.get('Hardware Notes', '')}".strip()
    return {**system, "Hardware Notes": notes, "Board Name": f"{system['Board Name']} ({MARK})"}


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def _checklist(organization: str, runs: Sequence[Run]) -> str:
    rows = "".join(
        f"- [x] {run.bench.id} on {run.board}: reference model {run.bench.file}, MD5 {run.bench.md5}, "
        f"unmodified weights{', ' + MARK if run.emulated else ''}\n"
        for run in runs
    )
    return (
        f"# MLPerf Tiny v1.4, closed division: {organization}\n\n{rows}\n"
        "- [x] post-training quantization of the reference model as distributed, no retraining\n"
        "- [x] inputs loaded over the serial line, results as printed by the device\n"
        "- [ ] peer review contact, to be filled in by the submitter\n"
    )
