"""rp2040js as an emulator of RP2040 boards: the image starts as from the boot ROM, boot block included."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tinydeploy.boards import Board
from tinydeploy.emulate.base import Emulator
from tinydeploy.emulate.line import Line, accept_from
from tinydeploy.errors import DeviceError, ToolError
from tinydeploy.firmware import Image, read_image
from tinydeploy.resources import cache_dir

VERSION = "1.4.1"
"""The rp2040js that the tests run with."""

VARIABLE = "TINYDEPLOY_RP2040JS"

_SCRIPT = Path(__file__).with_suffix(".mjs")
_ENTRY = Path("dist", "esm", "index.js")
_MODULE = Path("node_modules", "rp2040js")
_FLASH = range(0x1000_0000, 0x1100_0000)
_UARTS = (0x4003_4000, 0x4003_8000)
_EXIT_S = 5.0
_ERROR = re.compile(r"\w*Error\b")  # the line of a JavaScript trace that says what


@dataclass(frozen=True, slots=True)
class Rp2040Figures:
    """What rp2040js tells of a running chip. ``cycles`` are those of its model of the core.

    ``core_hz`` and ``baud`` follow from the registers that the firmware has written. ``edges`` are the
    newest changes of the signal pins: the cycle, the pin, high or low.
    """

    instructions: int
    cycles: int
    is_asleep: bool
    core_hz: int
    baud: int
    edges: tuple[tuple[int, int, bool], ...]


def find_rp2040js() -> Path | None:
    """The module file of rp2040js, or None where it, or Node.js, is not installed.

    TINYDEPLOY_RP2040JS names its folder, or the one with ``node_modules``; else it is looked for in the
    working folder, in Python's environment, and in the cache.
    """
    if shutil.which("node") is None:
        return None
    chosen = os.environ.get(VARIABLE)
    folders = [Path(chosen)] if chosen else [Path.cwd(), Path(sys.prefix)]
    if not chosen:
        with contextlib.suppress(ToolError):
            folders.append(cache_dir())
    for folder in folders:
        for candidate in (folder / _MODULE / _ENTRY, folder / _ENTRY):
            if candidate.is_file():
                return candidate.resolve()
    return None


def install_rp2040js(_board: Board | None = None) -> str:
    """The command that installs it where it is found."""
    command = f"npm install --prefix {_install_folder()} rp2040js@{VERSION}"
    return command if shutil.which("node") else f"apt-get install nodejs npm && {command}"


def rp2040js_version(module: Path) -> str:
    """The version of a module file that ``find_rp2040js`` gave; empty where it does not say."""
    try:
        told = json.loads((module.parents[2] / "package.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    return str(told.get("version", "")) if isinstance(told, dict) else ""


def _install_folder() -> str:
    chosen = os.environ.get(VARIABLE)
    if chosen:
        return chosen
    try:
        return str(cache_dir())
    except ToolError:
        return "."


class Rp2040Emulator(Emulator):
    """One Node.js process with rp2040js in it. It ends where the chip would fault, and the line says why."""

    kind = "rp2040js"

    def __init__(self, board: Board) -> None:
        self.name = f"{board.name} in rp2040js"
        module = find_rp2040js()
        if module is None:
            raise ToolError("rp2040js is not installed", where=self.name, fix=f"Run: {install_rp2040js()}")
        assert board.uart is not None
        base = board.chip.block(board.uart.block).base
        if base not in _UARTS:
            raise ToolError(
                f"rp2040js is an RP2040, whose UARTs are at {_UARTS[0]:#x} and {_UARTS[1]:#x}; "
                f"the board's line is at {base:#x}",
                where=self.name,
                fix="Take another emulator for it",
            )
        self._module = module
        self._job: dict[str, object] = {
            "uart": _UARTS.index(base),
            "baud": board.uart.baud,
            "pins": [[pin.pin, pin.alternate] for pin in board.pins],
            "signals": [signal.pin for signal in board.signals],
        }
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[str] | None = None
        self._line: Line | None = None
        self._failure = ""

    def start(self, elf: Path) -> None:
        image = read_image(elf)
        self.stop()
        self._failure = ""
        self._folder = tempfile.TemporaryDirectory(prefix="tinydeploy-")
        with socket.create_server(("127.0.0.1", 0)) as listener:
            job = {**self._job, "port": listener.getsockname()[1], "segments": _segments(image)}
            file = Path(self._folder.name) / "job.json"
            file.write_text(json.dumps(job), encoding="utf-8")
            self._process = subprocess.Popen(
                ["node", str(_SCRIPT), str(self._module), str(file)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            self._line = Line(self._accept(listener, self._process), self.name, self._why_closed)
        if self._told() is None:
            raise ToolError(f"rp2040js did not start: {self._why_closed()}", where=self.name)

    @property
    def uart(self) -> Line:
        if self._line is None:
            raise ToolError("is not started", where=self.name)
        return self._line

    def figures(self) -> Rp2040Figures:
        """What the chip is doing right now; raises DeviceError where the emulation has ended."""
        if self._process is None or self._process.stdin is None:
            raise ToolError("is not started", where=self.name)
        told = None
        with contextlib.suppress(OSError):
            self._process.stdin.write("\n")
            self._process.stdin.flush()
            told = self._told()
        if told is None:
            raise DeviceError(self._why_closed(), where=self.name)
        return Rp2040Figures(
            instructions=told["instructions"],
            cycles=told["cycles"],
            is_asleep=told["asleep"],
            core_hz=told["clk_sys"],
            baud=told["baud"],
            edges=tuple((cycle, pin, high) for cycle, pin, high in told["edges"]),
        )

    def instructions(self) -> int:
        return self.figures().instructions

    def stop(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None
        if self._process is not None:
            process, self._process = self._process, None
            if process.poll() is None:
                process.terminate()
            try:
                process.wait(_EXIT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            for stream in (process.stdin, process.stdout, process.stderr):
                if stream is not None:
                    with contextlib.suppress(OSError):
                        stream.close()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _accept(self, listener: socket.socket, process: subprocess.Popen[str]) -> socket.socket:
        connection = accept_from(process, listener)
        if connection is not None:
            return connection
        reason = self._why_closed()
        self.stop()
        raise ToolError(f"rp2040js did not start: {reason}", where=self.name)

    def _told(self) -> dict[str, Any] | None:
        """The next line of the process; None once it has ended, with its reason kept."""
        assert self._process is not None
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        told: dict[str, Any] = json.loads(line) if line else {"ended": ""}
        if "ended" not in told:
            return told
        self._failure = self._failure or told["ended"]
        return None

    def _why_closed(self) -> str:
        process = self._process
        if process is None:
            return "the emulator was stopped"
        try:
            process.wait(_EXIT_S)
        except subprocess.TimeoutExpired:
            return "the emulator was stopped"
        while not self._failure and self._told() is not None:
            """What it told before its reason."""
        if self._failure:
            return self._failure
        complaint = process.stderr.read().strip() if process.stderr else ""
        lines = [line for line in complaint.splitlines() if _ERROR.match(line)] or ["it gave no reason"]
        return f"Node.js ended with {process.returncode} ({lines[0]})"


def _segments(image: Image) -> list[tuple[int, str]]:
    """The flash's content; raises DeviceError where it is none of an RP2040."""
    for segment in image.segments:
        if segment.address not in _FLASH or segment.end - 1 not in _FLASH:
            raise DeviceError(
                f"the image has {len(segment.data)} bytes at {segment.address:#x}, "
                f"where an RP2040 has no flash ({_FLASH.start:#x} to {_FLASH.stop:#x})",
                where=str(image.path),
                fix="Build it for this board",
            )
    return [(segment.address, base64.b64encode(segment.data).decode("ascii")) for segment in image.segments]
