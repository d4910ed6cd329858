"""C compilers behind one interface: gcc and zig, for this machine and for microcontrollers."""

from tinydeploy.toolchain.base import Toolchain
from tinydeploy.toolchain.cpus import CPUS, HOST, CpuSpec, cpu_spec
from tinydeploy.toolchain.flags import C11, C99, C_ONLY_WARNINGS, CPP11, WARNINGS
from tinydeploy.toolchain.select import NAMES, available, select

__all__ = [
    "C11",
    "C99",
    "CPP11",
    "CPUS",
    "C_ONLY_WARNINGS",
    "HOST",
    "NAMES",
    "WARNINGS",
    "CpuSpec",
    "Toolchain",
    "available",
    "cpu_spec",
    "select",
]
