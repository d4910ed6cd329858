"""The board ``host``: a generated model as a native process that reports every row it computes."""

from __future__ import annotations

import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tinydeploy.build import Compiled, write_files
from tinydeploy.codegen import shadow_source
from tinydeploy.errors import DeviceError
from tinydeploy.ir import Array
from tinydeploy.resources import runtime_dir
from tinydeploy.toolchain import Toolchain

_RECORD = struct.Struct("<cIII")
TIMEOUT_S = 600


@dataclass(frozen=True, slots=True)
class Answer:
    """One run: the outputs, and the bytes that each kernel instance wrote, in the order of its rows."""

    outputs: tuple[Array, ...]
    instances: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class HostProgram:
    """A built model. ``run`` starts a fresh process, so a crash is one message and harms nothing."""

    compiled: Compiled
    executable: Path

    def run(self, samples: Sequence[Sequence[Array]]) -> Iterator[Answer]:
        """Run the samples in order, each a list of the model's inputs; yields one answer each.

        Raises DeviceError where the process dies or answers short.
        """
        stdin = b"".join(array.tobytes() for sample in samples for array in sample)
        try:
            done = subprocess.run(
                [str(self.executable), str(len(samples))],
                input=stdin,
                capture_output=True,
                timeout=TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise DeviceError(f"no answer within {TIMEOUT_S} s", where=self.executable.name) from None
        reader = _Reader(done.stdout, self.compiled)
        for index in range(len(samples)):
            answer = reader.answer()
            if answer is None:
                reason = done.stderr.decode(errors="replace").strip().split("\n")[0]
                raise DeviceError(
                    f"the host program stopped at sample {index} with exit status {done.returncode}"
                    + (f": {reason}" if reason else ""),
                    where=self.executable.name,
                )
            yield answer


class _Reader:
    def __init__(self, data: bytes, compiled: Compiled) -> None:
        self._data = memoryview(data)
        self._position = 0
        self._graph = compiled.graph
        self._instances = sum(1 for _ in compiled.program.calls())

    def answer(self) -> Answer | None:
        """The next complete answer, or None where the data ends before it does."""
        rows: list[list[bytes]] = [[] for _ in range(self._instances)]
        outputs: list[Array] = []
        while len(outputs) < len(self._graph.outputs):
            record = self._record()
            if record is None or record[0] == b"E":
                return None
            kind, first, second, payload = record
            if kind == b"T":
                if second != len(rows[first]):
                    raise DeviceError(f"instance {first} wrote row {second} after {len(rows[first])} rows")
                rows[first].append(payload)
            else:
                type_ = self._graph.type(self._graph.outputs[first])
                outputs.append(np.frombuffer(payload, type_.dtype.numpy).reshape(type_.shape))
        return Answer(tuple(outputs), tuple(b"".join(parts) for parts in rows))

    def _record(self) -> tuple[bytes, int, int, bytes] | None:
        head = self._data[self._position : self._position + _RECORD.size]
        if len(head) < _RECORD.size:
            return None
        kind, first, second, size = _RECORD.unpack(head)
        start = self._position + _RECORD.size
        payload = bytes(self._data[start : start + size])
        self._position = start + size
        return (kind, first, second, payload) if len(payload) == size else None


def build_host(
    compiled: Compiled, folder: Path, toolchain: Toolchain, *, optimize: str = "-O2"
) -> HostProgram:
    """Build the model with its row trace into an executable in ``folder``.

    Raises ToolError with the compiler's first errors.
    """
    library = compiled.library
    shadow = {"td_shadow.c": shadow_source(compiled.program, compiled.plan)}
    write_files({**library.files, **library.descriptor, **shadow}, folder)
    sources = [folder / name for name in (*library.sources, *library.descriptor, *shadow)]
    harness = runtime_dir() / "host"
    sources.append(harness / "td_host.c")
    objects = toolchain.compile(
        sources,
        include_dirs=[folder, harness],
        defines={"TD_TRACE": 1},
        out_dir=folder / "obj",
        optimize=optimize,
    )
    executable = folder / (library.prefix + (".exe" if sys.platform == "win32" else ""))
    toolchain.link_host(objects, executable)
    return HostProgram(compiled, executable)
