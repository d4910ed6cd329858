"""PlatformIO without its registry: a core folder with SCons, projects built in it, nothing downloaded."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

SCONS = """\
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from SCons.Script import main

main()
"""

# What upstream's ststm32 appends where there is no framework, and its board's manifest: facts of both.
UPSTREAM = """\
from SCons.Script import AlwaysBuild, Default, DefaultEnvironment

env = DefaultEnvironment()
cpu = "-mcpu=%s" % env.BoardConfig().get("build.cpu")
prefix = "arm-none-eabi-"
env.Replace(
    AR=prefix + "ar",
    AS=prefix + "as",
    CC=prefix + "gcc",
    CXX=prefix + "g++",
    OBJCOPY=prefix + "objcopy",
    RANLIB=prefix + "ranlib",
    SIZETOOL=prefix + "size",
    ARFLAGS=["rc"],
    SIZEPROGREGEXP=r"^(?:\\.text|\\.data|\\.rodata|\\.text.align|\\.ARM.exidx)\\s+(\\d+).*",
    SIZEDATAREGEXP=r"^(?:\\.data|\\.bss|\\.noinit)\\s+(\\d+).*",
    SIZECHECKCMD="$SIZETOOL -A -d $SOURCES",
    PROGSUFFIX=".elf",
    PROGNAME="firmware",
)
env.Append(
    ASFLAGS=["-mthumb", cpu],
    CCFLAGS=["-Os", "-ffunction-sections", "-fdata-sections", "-Wall", "-mthumb", cpu],
    CPPDEFINES=[("F_CPU", "$BOARD_F_CPU")],
    LINKFLAGS=["-Os", "-Wl,--gc-sections,--relax", "-mthumb", cpu],
    LIBS=["c", "gcc", "m", "stdc++"],
)
program = env.Alias("buildprog", env.BuildProgram())
AlwaysBuild(program)
Default([program])
"""
UPSTREAM_BOARD = {
    "name": "ST Nucleo F746ZG",
    "vendor": "ST",
    "url": "https://example.com/",
    "frameworks": ["arduino", "zephyr"],
    "build": {
        "cpu": "cortex-m7",
        "extra_flags": "-DSTM32F7 -DSTM32F746xx",
        "f_cpu": "216000000L",
        "mcu": "stm32f746zgt6",
    },
    "upload": {"maximum_ram_size": 327680, "maximum_size": 1048576, "protocol": "stlink"},
}


@dataclass(frozen=True, slots=True)
class PlatformIo:
    """A core folder; ``run`` calls pio in a project as a shell would."""

    core: Path

    def run(
        self, project: Path, *arguments: str, fails: bool = False, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """The finished command; fails unless it succeeded, or the other way round."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("PLATFORMIO_")}
        environment = {
            **kept,
            "PLATFORMIO_CORE_DIR": str(self.core),
            "PLATFORMIO_SETTING_ENABLE_TELEMETRY": "No",
            "PLATFORMIO_DISABLE_UPGRADE_CHECK": "true",
            "PLATFORMIO_SETTING_DISABLE_UDEV_RULES_CHECK": "yes",
            "PYTHONWARNINGS": "ignore",
            **variables,
        }
        command = [sys.executable, "-m", "platformio", "run", *arguments]
        done = subprocess.run(
            command, cwd=project, env=environment, capture_output=True, text=True, timeout=300, check=False
        )
        assert (done.returncode != 0) == fails, done.stdout + done.stderr
        return done


@pytest.fixture(scope="session")
def pio(tmp_path_factory: pytest.TempPathFactory) -> PlatformIo:
    """PlatformIO with SCons, a stand-in for the platform ststm32, and one for its compiler: that on PATH."""
    for module in ("platformio", "SCons"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    dependencies = importlib.import_module("platformio.dependencies").get_core_dependencies()
    core = tmp_path_factory.mktemp("core")
    wanted = re.sub(r"[^0-9.]", "", dependencies["tool-scons"])
    scons = _package(core / "packages", "tool-scons", wanted)
    (scons / "scons.py").write_text(SCONS)
    spec = importlib.util.find_spec("SCons")
    assert spec is not None
    assert spec.origin is not None
    (scons / "SCons").symlink_to(Path(spec.origin).parent)
    _package(core / "packages", "toolchain-gccarmnoneeabi", "1.120301.0")
    platform = _package(core / "platforms", "ststm32", "19.6.0", kind="platform")
    (platform / "builder").mkdir()
    (platform / "builder" / "main.py").write_text(UPSTREAM)
    (platform / "boards").mkdir()
    (platform / "boards" / "nucleo_f746zg.json").write_text(json.dumps(UPSTREAM_BOARD))
    return PlatformIo(core)


def _package(folder: Path, name: str, version: str, kind: str = "tool") -> Path:
    """An installed package of PlatformIO's registry, as far as its manager looks."""
    package = folder / name
    package.mkdir(parents=True)
    manifest: dict[str, object] = {"name": name, "version": version}
    if kind == "platform":
        toolchain = {"type": "toolchain", "owner": "platformio", "version": ">=1.60301.0,<1.80000.0"}
        manifest |= {
            "title": name,
            "description": name,
            "frameworks": {},
            "packages": {"toolchain-gccarmnoneeabi": toolchain},
        }
    (package / ("platform.json" if kind == "platform" else "package.json")).write_text(json.dumps(manifest))
    spec = {"owner": "platformio", "id": 1, "name": name, "requirements": None, "uri": None}
    (package / ".piopm").write_text(
        json.dumps({"type": kind, "name": name, "version": version, "spec": spec})
    )
    return package
