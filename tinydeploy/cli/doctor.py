"""``tinydeploy doctor``: what is installed, what it is for, and the command that gets what is not."""

from __future__ import annotations

import importlib.util
import platform
import shutil
from dataclasses import asdict, dataclass
from importlib import metadata

from tinydeploy import __version__
from tinydeploy.cli import console
from tinydeploy.cli.options import Json
from tinydeploy.emulate.rp2040 import find_rp2040js, install_rp2040js, rp2040js_version
from tinydeploy.flash import serial_probes
from tinydeploy.toolchain import CPUS, HOST, CpuSpec, available, select


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that tinydeploy can use."""

    name: str
    found: bool
    version: str
    needed_for: str
    fix: str


def doctor(as_json: Json = False) -> None:
    """Show which compilers, emulators and tools are installed, how to install the others, what is plugged in.

    Example: tinydeploy doctor
    """
    checks = [*_compilers(), *_packages(), _rp2040js(), *_programs()]
    plugged = serial_probes()
    figures: dict[str, object] = {
        "version": __version__,
        "python": platform.python_version(),
        "checks": [asdict(check) for check in checks],
        "plugged_in": [
            {"title": found.title, "serial": found.serial, "port": found.port} for found in plugged
        ],
    }
    rows = [
        (
            check.name,
            check.version or ("yes" if check.found else "missing"),
            check.needed_for,
            "" if check.found else check.fix,
        )
        for check in checks
    ]
    table = console.table(
        f"tinydeploy {__version__}, Python {platform.python_version()}",
        rows,
        columns=("what", "found", "needed for", "to install"),
    )
    console.result(figures, as_json=as_json, text=table)
    if plugged and not as_json:
        found = [(probe.title, probe.serial, probe.port) for probe in plugged]
        console.result({}, as_json=False, text=console.table("Plugged in", found, ("what", "serial", "port")))


def _compilers() -> list[Check]:
    wanted = (
        ("gcc", HOST, "board host", "apt-get install gcc"),
        ("gcc", CPUS["cortex-m4"], "Arm boards", "apt-get install gcc-arm-none-eabi"),
        ("gcc", CPUS["rv32imc"], "RISC-V boards", "apt-get install gcc-riscv64-unknown-elf"),
        ("zig", HOST, "every board, without gcc", 'pip install "tinydeploy[zig]"'),
    )
    return [_compiler(*row) for row in wanted]


def _compiler(name: str, cpu: CpuSpec, needed_for: str, fix: str) -> Check:
    found = name in available(cpu)
    label = name if name == "zig" else f"{cpu.gcc_prefix}gcc"
    return Check(label, found, select(name, cpu).version if found else "", needed_for, fix)


def _packages() -> list[Check]:
    wanted = (
        ("unicorn", "emulated STM32 and nRF52", 'pip install "tinydeploy[emulator]"'),
        ("pyocd", "debug probes, from pip", 'pip install "tinydeploy[pyocd]"'),
        ("esptool", "flashing Espressif boards", 'pip install "tinydeploy[esptool]"'),
        ("platformio", "building exported PlatformIO projects", 'pip install "tinydeploy[platformio]"'),
    )
    checks: list[Check] = []
    for name, needed_for, fix in wanted:
        found = importlib.util.find_spec(name) is not None
        checks.append(Check(name, found, metadata.version(name) if found else "", needed_for, fix))
    return checks


def _rp2040js() -> Check:
    """It runs in Node.js, so that both must be there."""
    found = find_rp2040js()
    version = rp2040js_version(found) if found else ""
    return Check("rp2040js", found is not None, version, "emulated RP2040 boards", install_rp2040js())


def _programs() -> list[Check]:
    wanted = (
        ("qemu-system-arm", "emulated Arm boards", "apt-get install qemu-system-arm"),
        ("qemu-system-riscv32", "emulated RISC-V boards", "apt-get install qemu-system-misc"),
        ("openocd", "debug probes", "apt-get install openocd"),
    )
    return [Check(name, shutil.which(name) is not None, "", *rest) for name, *rest in wanted]
