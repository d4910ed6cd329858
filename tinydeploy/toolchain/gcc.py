"""GNU compilers: the machine's own, arm-none-eabi and riscv64-unknown-elf."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from tinydeploy.errors import ToolError
from tinydeploy.toolchain.base import Toolchain
from tinydeploy.toolchain.cpus import CpuSpec


def find_gcc(cpu: CpuSpec) -> str | None:
    """The path of the gcc that builds for ``cpu``, or None."""
    names = ("gcc", "cc") if cpu.is_host else (f"{cpu.gcc_prefix}gcc",)
    return next((path for name in names if (path := shutil.which(name))), None)


class Gcc(Toolchain):
    name = "gcc"
    stack_flags = ("-fstack-usage",)

    def __init__(self, cpu: CpuSpec, *, sanitize: bool = False) -> None:
        super().__init__(cpu, sanitize=sanitize)
        path = find_gcc(cpu)
        if path is None:
            raise ToolError(f"no gcc for {cpu.key} is on PATH")
        self.path = path

    @property
    def version(self) -> str:
        return self._run(
            [self.path, "-dumpfullversion", "-dumpversion"], doing="asking for the version"
        ).strip()

    def _compiler(self) -> tuple[str, ...]:
        return (self.path, *self.cpu.gcc_flags, *self.cpu.extra_flags)

    def link_firmware(self, objects: Sequence[Path], linker_script: Path, out_elf: Path, map: Path) -> Path:
        command = [*self._compiler(), "-nostdlib", "-nostartfiles", "-T", str(linker_script)]
        command += [
            "-Wl,--gc-sections",
            f"-Wl,-Map={map}",
            "-Wl,--build-id=none",
        ]
        command += [*[str(path) for path in objects], "-lgcc", "-o", str(out_elf)]
        self._run(command, doing=f"linking {out_elf.name}")
        return out_elf
