"""What a C compiler is to the rest of tinydeploy, and what gcc and zig share."""

from __future__ import annotations

import os
import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tinydeploy.errors import ToolError
from tinydeploy.resources import runtime_dir
from tinydeploy.toolchain.cpus import CpuSpec
from tinydeploy.toolchain.flags import C11, COMMON, FREESTANDING, SANITIZE, WARNINGS
from tinydeploy.toolchain.process import run_tool

# Options that hold a path, and characters in it that compilers and linkers take for their own: zig reads its
# lists of dependencies wrongly, -Wl ends at a comma, ld puts the output's name in place of a percent sign.
_PATH = re.compile(r"(-I|-Wl,-Map=|--Map=|-femit-bin=|)(/?[^-].*/.*|/.*)\Z", re.DOTALL)
_AWKWARD = re.compile(r"""["'$%\\#,]""")


class Toolchain(ABC):
    """A compiler for one CPU: sources to objects, objects to a program, a library or a firmware image.

    ``name`` is ``gcc`` or ``zig``; ``version`` the compiler's own, to be recorded with every figure.
    ``sanitize`` instruments host code with ASan and UBSan. ``stack_flags`` let the compiler tell the
    frames of functions: gcc in a ``.su`` file beside the object, clang in a section.
    """

    name: str
    stack_flags: tuple[str, ...]

    def __init__(self, cpu: CpuSpec, *, sanitize: bool = False) -> None:
        if sanitize and not cpu.is_host:
            raise ToolError(f"sanitizers run on the host only, not on {cpu.key}", fix="Use the board host")
        self.cpu = cpu
        self.sanitize = sanitize

    @property
    @abstractmethod
    def version(self) -> str:
        """The compiler's version, such as ``12.2.1``."""

    @abstractmethod
    def _compiler(self) -> tuple[str, ...]:
        """The command that compiles and links, with the flags that choose the CPU."""

    @abstractmethod
    def link_firmware(self, objects: Sequence[Path], linker_script: Path, out_elf: Path, map: Path) -> Path:
        """Link a firmware image; unreferenced sections are dropped. Returns ``out_elf``."""

    def _environment(self) -> Mapping[str, str] | None:
        return None

    def compile(
        self,
        sources: Sequence[Path],
        *,
        out_dir: Path,
        cpu: CpuSpec | None = None,
        include_dirs: Sequence[Path] = (),
        defines: Mapping[str, str | int] | None = None,
        language: Sequence[str] = C11,
        optimize: str = "-O3",
        extra: Sequence[str] = (),
        warnings: Sequence[str] = WARNINGS,
    ) -> list[Path]:
        """Compile C files into objects under ``out_dir``, in the order of ``sources``.

        ``extra`` comes last and wins. ``cpu``, where given, must be the CPU this toolchain was selected for.
        Raises ToolError with the first error lines of the compiler.
        """
        if cpu is not None and cpu != self.cpu:
            raise ToolError(f"this toolchain was selected for {self.cpu.key}, not for {cpu.key}")
        out_dir.mkdir(parents=True, exist_ok=True)
        flags = [*language, *COMMON, *warnings, optimize, *self._target_flags()]
        flags += [f"-D{name}={value}" for name, value in (defines or {}).items()]
        flags += [f"-I{folder}" for folder in include_dirs]
        jobs = [
            (source, target, [*self._compiler(), *flags, *extra, "-c", str(source), "-o", str(target)])
            for source, target in zip(sources, object_paths(sources, out_dir), strict=True)
        ]
        with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
            list(pool.map(lambda job: self._run(job[2], doing=f"compiling {job[0]}"), jobs))
        return [target for _, target, _ in jobs]

    def link_host(self, objects: Sequence[Path], out: Path) -> Path:
        """Link objects into a program of this machine; returns ``out``."""
        sanitize = SANITIZE if self.sanitize else ()
        return self._link(objects, out, (*sanitize, "-lm"))

    def link_shared(self, objects: Sequence[Path], out: Path) -> Path:
        """Link objects, compiled with ``-fPIC``, into a library that ctypes can load; returns ``out``.

        The objects call no C library: without it, zig's first link takes a moment instead of half a minute.
        """
        alone = ("-nostdlib",) if sys.platform == "linux" else ()
        return self._link(objects, out, ("-shared", *alone))

    def _link(self, objects: Sequence[Path], out: Path, flags: Sequence[str]) -> Path:
        if not self.cpu.is_host:
            raise ToolError(
                f"{self.cpu.key} has no operating system to run a program", fix="Build a firmware"
            )
        out.parent.mkdir(parents=True, exist_ok=True)
        command = [*self._compiler(), *map(str, objects), "-o", str(out), *flags]
        self._run(command, doing=f"linking {out.name}")
        return out

    def _target_flags(self) -> list[str]:
        if self.cpu.is_host:
            return list(SANITIZE) if self.sanitize else []
        features = [f"-DTD_CPU_HAS_{feature.upper()}=1" for feature in self.cpu.features]
        return [*FREESTANDING, *features, "-isystem", str(runtime_dir() / "libc")]

    def _run(self, command: Sequence[str], *, doing: str) -> str:
        """Run a compiler or linker; awkward paths become relative to the folder that the result goes to."""
        at = command.index("-o") + 1 if "-o" in command else 0
        paths = [found[2] for part in command[1:] if (found := _PATH.match(part))]
        if not at or sys.platform == "win32" or not any(map(_AWKWARD.search, paths)):
            return run_tool(command, doing=doing, env=self._environment())
        folder = Path(command[at]).resolve().parent
        parts = [_relative(part, folder) for part in command[1:]]
        parts[at - 1] = Path(command[at]).name
        return run_tool([command[0], *parts], doing=doing, env=self._environment(), folder=folder)


def _relative(part: str, folder: Path) -> str:
    """An argument whose path, where it has one, is seen from another folder."""
    found = _PATH.match(part)
    return found[1] + os.path.relpath(Path(found[2]).resolve(), folder) if found else part


def object_paths(sources: Sequence[Path], out_dir: Path) -> list[Path]:
    """One object path per source; sources of the same name in different folders get different objects."""
    paths: list[Path] = []
    for source in sources:
        path = out_dir / f"{source.stem}.o"
        number = 2
        while path in paths:
            path = out_dir / f"{source.stem}_{number}.o"
            number += 1
        paths.append(path)
    return paths
