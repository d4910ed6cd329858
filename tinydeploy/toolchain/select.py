"""Which compiler is used: the one asked for, else the first that is installed."""

from __future__ import annotations

from collections.abc import Callable

from tinydeploy.errors import ToolError
from tinydeploy.toolchain.base import Toolchain
from tinydeploy.toolchain.cpus import CpuSpec
from tinydeploy.toolchain.gcc import Gcc, find_gcc
from tinydeploy.toolchain.zig import Zig, find_zig

_DEBIAN_PACKAGES = {
    "host": "gcc",
    "arm": "gcc-arm-none-eabi",
    "riscv": "gcc-riscv64-unknown-elf",
}


def _has_gcc(cpu: CpuSpec) -> bool:
    return find_gcc(cpu) is not None


def _has_zig(cpu: CpuSpec) -> bool:
    return find_zig() is not None


# In the order of preference.
_TOOLCHAINS: dict[str, tuple[Callable[[CpuSpec], bool], type[Toolchain]]] = {
    "gcc": (_has_gcc, Gcc),
    "zig": (_has_zig, Zig),
}

NAMES = tuple(_TOOLCHAINS)


def available(cpu: CpuSpec) -> tuple[str, ...]:
    """The names of the installed toolchains that can build for ``cpu``, best first."""
    return tuple(name for name, (found, _) in _TOOLCHAINS.items() if found(cpu))


def select(name: str | None, cpu: CpuSpec, *, sanitize: bool = False) -> Toolchain:
    """The toolchain ``name`` for ``cpu``, or the first that is installed where ``name`` is None.

    Raises ToolError that says what to install.
    """
    if name is not None and name not in _TOOLCHAINS:
        raise ToolError(f"toolchain {name!r} is not supported. Supported: {', '.join(NAMES)}")
    found = available(cpu)
    if name is None and found:
        name = found[0]
    if name is None or name not in found:
        wanted = name or "C compiler"
        raise ToolError(f"no {wanted} for {cpu.key} is installed", fix=_advice(name, cpu))
    return _TOOLCHAINS[name][1](cpu, sanitize=sanitize)


def _advice(name: str | None, cpu: CpuSpec) -> str:
    commands = {
        "gcc": f"apt-get install {_DEBIAN_PACKAGES[cpu.arch]}",
        "zig": 'pip install "tinydeploy[zig]"',
    }
    return "Install it: " + (commands[name] if name else " or ".join(reversed(commands.values())))
