"""Compiling and linking with both compilers, and what a user sees when that fails."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tinydeploy.errors import ToolError
from tinydeploy.resources import runtime_dir
from tinydeploy.toolchain import CPUS, HOST, NAMES, cpu_spec, select
from tinydeploy.toolchain.base import object_paths
from tinydeploy.toolchain.process import run_tool

ANSWER = "int answer(void);\nint answer(void) {\n    return 42;\n}\n"
MAIN = "int answer(void);\nint main(void) {\n    return answer();\n}\n"
BOARD_CPUS = [key for key, cpu in CPUS.items() if not cpu.is_host]


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", NAMES)
def test_a_host_program_runs(name: str, tmp_path: Path) -> None:
    toolchain = select(name, HOST)
    sources = [write(tmp_path, "answer.c", ANSWER), write(tmp_path, "main.c", MAIN)]
    objects = toolchain.compile(sources, cpu=HOST, out_dir=tmp_path / "obj")
    program = toolchain.link_host(objects, tmp_path / "bin" / "program")
    assert subprocess.run([program], check=False).returncode == 42


@pytest.mark.parametrize("name", NAMES)
def test_a_compiler_error_is_one_message(name: str, tmp_path: Path) -> None:
    source = write(tmp_path, "wrong.c", "int wrong(void) {\n    return missing;\n}\n")
    with pytest.raises(ToolError) as caught:
        select(name, HOST).compile([source], out_dir=tmp_path)
    text = str(caught.value)
    assert text.startswith(f"compiling {source}: ")
    assert "failed:" in text
    assert "wrong.c:2" in text
    assert "missing" in text
    assert len(text.splitlines()) <= 7


@pytest.mark.parametrize("name", NAMES)
def test_warnings_are_errors(name: str, tmp_path: Path) -> None:
    source = write(tmp_path, "narrow.c", "char narrow(int x);\nchar narrow(int x) {\n    return x;\n}\n")
    with pytest.raises(ToolError, match="conversion"):
        select(name, HOST).compile([source], out_dir=tmp_path)


def test_the_sanitizer_stops_an_overflow(tmp_path: Path) -> None:
    text = "int main(void) {\n    volatile int large = 2147483647;\n    return large + 1 == 0;\n}\n"
    toolchain = select("gcc", HOST, sanitize=True)
    objects = toolchain.compile([write(tmp_path, "main.c", text)], out_dir=tmp_path)
    program = toolchain.link_host(objects, tmp_path / "program")
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "signed integer overflow" in done.stderr


def test_one_toolchain_serves_one_cpu(tmp_path: Path) -> None:
    toolchain = select("gcc", HOST)
    with pytest.raises(ToolError, match="this toolchain was selected for host, not for cortex-m4"):
        toolchain.compile([], out_dir=tmp_path, cpu=cpu_spec("cortex-m4"))


def test_a_microcontroller_runs_no_programs(tmp_path: Path) -> None:
    with pytest.raises(
        ToolError, match=r"cortex-m4 has no operating system to run a program\. Build a firmware"
    ):
        select("zig", cpu_spec("cortex-m4")).link_host([], tmp_path / "program")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("key", BOARD_CPUS)
def test_the_flags_give_the_features_of_the_cpu(name: str, key: str, tmp_path: Path) -> None:
    """td_cpu.h refuses flags that leave out what the CPU has; the runtime's string functions come along."""
    toolchain = select(name, cpu_spec(key))
    sources = [runtime_dir() / "src" / "td_string.c"]
    assert toolchain.compile(sources, out_dir=tmp_path, include_dirs=[runtime_dir() / "include"])


def test_missing_features_are_an_error(tmp_path: Path) -> None:
    source = write(tmp_path, "guard.c", '#include "td_cpu.h"\ntypedef int nothing;\n')
    includes = [runtime_dir() / "include"]
    bare = select("gcc", cpu_spec("cortex-m3"))
    for feature, words in (("FPU", "has an FPU"), ("DSP", "has the DSP extension"), ("MVE", "has MVE")):
        with pytest.raises(
            ToolError, match=f"the chip {words}, but the compiler's flags for this CPU leave it out"
        ):
            bare.compile(
                [source], out_dir=tmp_path, include_dirs=includes, defines={f"TD_CPU_HAS_{feature}": 1}
            )
    with pytest.raises(ToolError, match="the compiler uses an FPU that startup does not switch on"):
        bare.compile(
            [source],
            out_dir=tmp_path,
            include_dirs=includes,
            extra=("-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"),
        )


def test_objects_of_equal_names_differ(tmp_path: Path) -> None:
    paths = object_paths([Path("a/x.c"), Path("b/x.c"), Path("c/x.c")], tmp_path)
    assert [path.name for path in paths] == ["x.o", "x_2.o", "x_3.o"]


def test_a_tool_that_hangs_or_is_missing_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinydeploy.toolchain.process.TIMEOUT_S", 0.2)
    with pytest.raises(
        ToolError, match=r"testing: .* did not end within 0.2 s\. Try again on a less busy machine"
    ):
        run_tool([sys.executable, "-c", "import time; time.sleep(60)"], doing="testing")
    with pytest.raises(
        ToolError, match=r"testing: no-such-tool cannot be started \(No such file or directory\)"
    ):
        run_tool(["/nowhere/no-such-tool"], doing="testing")
