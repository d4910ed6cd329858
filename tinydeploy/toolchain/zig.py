"""Zig from PyPI: clang and lld for every CPU in one ``pip install``, without root."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from tinydeploy.errors import ToolError
from tinydeploy.resources import cache_dir
from tinydeploy.toolchain.base import Toolchain
from tinydeploy.toolchain.cpus import CpuSpec

# clang refuses UBSan's runtime on bare metal; zig switches it on below -O1.
ZIG_FLAGS = ("-fno-sanitize=all",)


def find_zig() -> Path | None:
    """The zig program inside the installed ``ziglang`` package, or None."""
    spec = importlib.util.find_spec("ziglang")
    if spec is None or spec.origin is None:
        return None
    program = Path(spec.origin).with_name("zig.exe" if sys.platform == "win32" else "zig")
    return program if program.is_file() else None


class Zig(Toolchain):
    name = "zig"
    stack_flags = ("-fstack-size-section",)

    def __init__(self, cpu: CpuSpec, *, sanitize: bool = False) -> None:
        super().__init__(cpu, sanitize=sanitize)
        if sanitize:
            raise ToolError("zig ships no address sanitizer", fix="Use gcc for sanitized host builds")
        program = find_zig()
        if program is None:
            raise ToolError("the Python package ziglang is not installed")
        self.path = program

    @cached_property
    def _version(self) -> str:
        return self._run([str(self.path), "version"], doing="asking for the version").strip()

    @property
    def version(self) -> str:
        return self._version

    def _environment(self) -> Mapping[str, str]:
        cache = os.environ.get("ZIG_GLOBAL_CACHE_DIR") or str(cache_dir() / "zig")
        return {"ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}

    def _compiler(self) -> tuple[str, ...]:
        target = () if self.cpu.is_host else ("-target", self.cpu.zig_target, f"-mcpu={self.cpu.zig_cpu}")
        return (str(self.path), "cc", *target, *self.cpu.extra_flags, *ZIG_FLAGS)

    def link_firmware(self, objects: Sequence[Path], linker_script: Path, out_elf: Path, map: Path) -> Path:
        command = [str(self.path), "ld.lld", "-m", self.cpu.lld_emulation, "-T", str(linker_script)]
        command += ["--gc-sections", f"--Map={map}", "--build-id=none"]
        command += [*[str(path) for path in objects], str(self._compiler_rt()), "-o", str(out_elf)]
        self._run(command, doing=f"linking {out_elf.name}")
        return out_elf

    def _compiler_rt(self) -> Path:
        """The helpers that the compiler calls (64-bit division and the like), built once per CPU."""
        library = cache_dir() / "compiler-rt" / self._version / f"{self.cpu.key}.a"
        if library.is_file():
            return library
        library.parent.mkdir(parents=True, exist_ok=True)
        made = library.with_suffix(f".{os.getpid()}.a")
        source = self.path.parent / "lib" / "compiler_rt.zig"
        command = [str(self.path), "build-lib", str(source), "-target", self.cpu.zig_target]
        command += [
            f"-mcpu={self.cpu.zig_cpu}",
            "-OReleaseSmall",
            "-fno-stack-check",
            "-ffunction-sections",
            "-fdata-sections",
            f"-femit-bin={made}",
        ]
        self._run(command, doing=f"building compiler-rt for {self.cpu.key}")
        made.replace(library)
        return library
