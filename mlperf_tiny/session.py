"""What a run leaves behind, in the official runner's form: log.txt, results.txt, results.json.

``answers.jsonl`` beside them holds every answer as it came, so that an interrupted run goes on.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from threading import Lock
from typing import Any

from tinydeploy.errors import TinyDeployError

ANSWERS = "answers.jsonl"


class Session:
    """A folder of one run. ``identity`` is what must be the same for a run to go on: model, board, mode."""

    def __init__(self, folder: Path, identity: dict[str, object]) -> None:
        self.folder = folder
        self._lock = Lock()
        self._answers: dict[int, dict[str, Any]] = {}
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._resume(identity)
            self._log = (folder / "log.txt").open("a", encoding="utf-8")
        except OSError as error:
            raise TinyDeployError(
                f"cannot write: {error.strerror}", where=str(folder), fix="Choose another -o"
            ) from None

    @property
    def answers(self) -> dict[int, dict[str, Any]]:
        """Everything recorded so far, by number."""
        return dict(self._answers)

    def log(self, text: str) -> None:
        """A line of log.txt, with the time in front."""
        stamp = datetime.now().strftime("%m%d.%H%M%S")
        with self._lock:
            self._log.write(f"{stamp} ulp-mlperf: {text}\n")

    def record(self, number: int, answer: dict[str, Any]) -> None:
        """Keep an answer for good, from any thread."""
        with self._lock:
            self._answers[number] = answer
            self._stream.write(json.dumps({"number": number, **answer}) + "\n")
            self._stream.flush()

    def finish(self, lines: Iterable[str], results: list[dict[str, Any]]) -> None:
        """Write results.txt and results.json, whole or not at all."""
        stamp = datetime.now().strftime("%m%d.%H%M%S")
        text = "".join(f"{stamp} ulp-mlperf: {line}\n" for line in lines)
        for line in lines:
            self.log(line)
        self._write("results.txt", text)
        self._write("results.json", json.dumps(results))

    def close(self) -> None:
        self._log.close()
        self._stream.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _write(self, name: str, text: str) -> None:
        temporary = self.folder / f".{name}.new"
        temporary.write_text(text, encoding="utf-8")
        os.replace(temporary, self.folder / name)

    def _resume(self, identity: dict[str, object]) -> None:
        path = self.folder / ANSWERS
        lines = path.read_text(encoding="utf-8").splitlines() if path.is_file() else []
        kept: list[str] = []
        for number, line in enumerate(lines):
            try:
                entry = json.loads(line)
            except ValueError:
                break  # the line that was being written when the run ended
            if number == 0 and entry != identity:
                raise TinyDeployError(
                    f"holds a run of {entry}", where=str(path), fix="Choose another -o, or remove the folder"
                )
            if number:
                self._answers[entry.pop("number")] = entry
            kept.append(line)
        kept = kept or [json.dumps(identity)]
        self._write(ANSWERS, "".join(f"{line}\n" for line in kept))
        self._stream = path.open("a", encoding="utf-8")
