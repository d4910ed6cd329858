"""Every CPU the compilers can build for: one table, one key per CPU, the flags of both compilers beside it.

Board and chip files name a key, never flags. The ``#error`` guards of ``runtime_c/include/td_cpu.h`` check at
compile time that the flags really gave the features listed here: a bare ``cortex_m7`` has no FPU for clang.
"""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.boards.model import LIBRARY_CPUS
from tinydeploy.errors import ToolError


@dataclass(frozen=True, slots=True)
class CpuSpec:
    """One CPU. ``features`` become ``TD_CPU_HAS_<FEATURE>=1`` definitions, the rest are compiler flags.

    ``core`` names the folders of ``runtime_c/core`` that hold its startup code.
    """

    key: str
    arch: str
    core: tuple[str, ...] = ()
    gcc_prefix: str = ""
    gcc_flags: tuple[str, ...] = ()
    zig_target: str = ""
    zig_cpu: str = ""
    lld_emulation: str = ""
    extra_flags: tuple[str, ...] = ()
    features: tuple[str, ...] = ()

    @property
    def is_host(self) -> bool:
        return self.arch == "host"


_V6M = ("cortex_m", "armv6m")
_V7M = ("cortex_m", "mainline", "armv7m")
_V8M = ("cortex_m", "mainline", "armv8m")


def _arm(
    key: str,
    core: tuple[str, ...],
    zig_cpu: str,
    fpu: str = "",
    features: tuple[str, ...] = (),
    gcc_cpu: str = "",
) -> tuple[str, CpuSpec]:
    hard = bool(fpu)
    flags = (f"-mfpu={fpu}", "-mfloat-abi=hard") if hard else ("-mfloat-abi=soft",)
    spec = CpuSpec(
        key=key,
        arch="arm",
        core=core,
        gcc_prefix="arm-none-eabi-",
        gcc_flags=(f"-mcpu={gcc_cpu or key}", "-mthumb", *flags),
        zig_target="thumb-freestanding-eabihf" if hard else "thumb-freestanding-eabi",
        zig_cpu=zig_cpu,
        lld_emulation="armelf",
        features=features,
    )
    return key, spec


HOST = CpuSpec(key="host", arch="host")

CPUS: dict[str, CpuSpec] = dict(
    [
        ("host", HOST),
        _arm("cortex-m0", _V6M, "cortex_m0"),
        _arm("cortex-m0plus", _V6M, "cortex_m0plus"),
        _arm("cortex-m3", _V7M, "cortex_m3"),
        _arm("cortex-m4", _V7M, "cortex_m4+vfp4d16sp", "fpv4-sp-d16", ("fpu", "dsp")),
        _arm("cortex-m7", _V7M, "cortex_m7+fp_armv8d16sp", "fpv5-sp-d16", ("fpu", "dsp")),
        _arm("cortex-m33", _V8M, "cortex_m33+dsp+fp_armv8d16sp", "fpv5-sp-d16", ("fpu", "dsp")),
        _arm("cortex-m55", _V8M, "cortex_m55+mve_fp+fp_armv8d16", "auto", ("fpu", "dsp", "mve")),
        # gcc 12 does not know it; it runs everything that is made for the M55.
        _arm("cortex-m85", _V8M, "cortex_m85+mve_fp", "auto", ("fpu", "dsp", "mve"), gcc_cpu="cortex-m55"),
        (
            "rv32imc",
            CpuSpec(
                key="rv32imc",
                arch="riscv",
                core=("riscv32",),
                gcc_prefix="riscv64-unknown-elf-",
                gcc_flags=("-march=rv32imc", "-mabi=ilp32", "-misa-spec=2.2"),
                zig_target="riscv32-freestanding-none",
                zig_cpu="generic_rv32+m+c",
                lld_emulation="elf32lriscv",
                extra_flags=("-mcmodel=medany",),
            ),
        ),
    ]
)


def cpu_spec(key: str) -> CpuSpec:
    """The CPU of that key; raises ToolError that lists the keys."""
    if key in LIBRARY_CPUS:
        raise ToolError(
            f"there is no compiler of ours for {key}: the vendor's tools build for it",
            fix="tinydeploy export MODEL --board BOARD --format FORMAT",
        )
    if key not in CPUS:
        raise ToolError(f"CPU {key!r} is not supported. Supported: {', '.join(CPUS)}")
    return CPUS[key]
