"""QEMU as an emulator of boards. An instruction lasts 1 ns of its time, so that firmware counts exactly."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Sequence
from pathlib import Path

from tinydeploy.boards import Board, QemuProperty
from tinydeploy.emulate.base import Emulator
from tinydeploy.emulate.line import Line, accept_from
from tinydeploy.errors import ToolError
from tinydeploy.firmware import read_image
from tinydeploy.toolchain import cpu_spec

# Program, Debian package and options for each architecture.
_PROGRAMS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "arm": ("qemu-system-arm", "qemu-system-arm", ()),
    "riscv": ("qemu-system-riscv32", "qemu-system-misc", ("-bios", "none")),
}
_EXIT_S = 5.0


def find_qemu(board: Board) -> str | None:
    """The path of the QEMU that emulates the board's core, or None."""
    program = _PROGRAMS.get(cpu_spec(board.chip.cpu).arch)
    return shutil.which(program[0]) if program else None


def install_qemu(board: Board) -> str:
    """The command that installs it."""
    return f"apt-get install {_PROGRAMS[cpu_spec(board.chip.cpu).arch][1]}"


class QemuEmulator(Emulator):
    """One QEMU process. It connects to a socket of ours before the first instruction: no output is lost."""

    kind = "qemu"

    def __init__(self, board: Board, machine: str, properties: Sequence[QemuProperty] = ()) -> None:
        self.name = f"{board.name} in QEMU"
        program, _, options = _PROGRAMS[cpu_spec(board.chip.cpu).arch]
        self._options = ["-machine", machine, *options]
        for found in properties:
            self._options += ["-global", f"{found.device}.{found.name}={found.value:#x}"]
        path = find_qemu(board)
        if path is None:
            raise ToolError(
                f"{program} is not on PATH",
                where=self.name,
                fix=f"Install it: {install_qemu(board)}",
            )
        self._path = path
        self._process: subprocess.Popen[str] | None = None
        self._line: Line | None = None

    def start(self, elf: Path) -> None:
        read_image(elf)
        self.stop()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            port = listener.getsockname()[1]
            command = [self._path, *self._options, "-kernel", str(elf)]
            command += ["-display", "none", "-monitor", "none", "-icount", "shift=0"]
            command += ["-serial", f"tcp:127.0.0.1:{port},nodelay=on"]
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
            )
            self._line = Line(self._accept(listener, self._process), self.name, self._why_closed)

    @property
    def uart(self) -> Line:
        if self._line is None:
            raise ToolError("is not started", where=self.name)
        return self._line

    def instructions(self) -> None:
        return None

    def stop(self) -> None:
        if self._process is not None:
            if self._process.poll() is None:
                self._process.terminate()
            try:
                self._process.wait(_EXIT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            if self._process.stderr is not None:
                self._process.stderr.close()
            self._process = None
        if self._line is not None:
            self._line.close()
            self._line = None

    def _accept(self, listener: socket.socket, process: subprocess.Popen[str]) -> socket.socket:
        connection = accept_from(process, listener)
        if connection is not None:
            return connection
        reason = self._why_closed()
        self.stop()
        raise ToolError(f"QEMU did not start: {reason}", where=self.name)

    def _why_closed(self) -> str:
        if self._process is None or self._process.poll() is None:
            return "the emulator was stopped"
        complaint = self._process.stderr.read().strip() if self._process.stderr else ""
        first = complaint.splitlines()[0] if complaint else "it gave no reason"
        return f"QEMU ended with {self._process.returncode} ({first})"
