"""The CMake package: built, tested, installed, moved, and used by a second project."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.export.metadata.tree import path_faults, text_faults, text_of
from tests.export.stub_build import build_with_cmake, compiled, needs_make, outputs_of, project, written
from tinydeploy.boards import load_board
from tinydeploy.build import compile_graph
from tinydeploy.demo import model_path
from tinydeploy.export import cmake, make_project
from tinydeploy.frontends import load
from tinydeploy.kernels.targets import target_of

USER = """\
cmake_minimum_required(VERSION 3.15)
project(user LANGUAGES C CXX)
find_package(digits 1.0 REQUIRED)
add_executable(in_c main.c)
add_executable(in_cpp main.cpp)
foreach(program in_c in_cpp)
  target_link_libraries(${program} PRIVATE digits::digits)
endforeach()
"""

PROGRAM = """\
#include "digits.h"

static uint64_t arena[(DIGITS_ARENA_BYTES + 7u) / 8u];

int main(void)
{
    digits_t model;
    return digits_init(&model, arena, sizeof arena) == TD_OK && digits_run(&model) == TD_OK ? 0 : 1;
}
"""

TOOLCHAIN = """\
set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR arm)
set(CMAKE_C_COMPILER arm-none-eabi-gcc)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_C_FLAGS_INIT "-mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard")
"""


def tool(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def run(*command: object, **variables: str) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("model", ["digits", "mixed", "hostile"])
def test_names_of_a_model_stay_text(model: str) -> None:
    tree = cmake.make(project(model))
    assert [*path_faults(tree), *text_faults(tree)] == []


@needs_make
@pytest.mark.parametrize("model", ["mixed", "hostile"])
def test_the_example_passes(model: str, tmp_path: Path) -> None:
    """With the project's warnings as errors."""
    name = project(model).name
    root = written(cmake.make(project(model)), tmp_path / "package")
    build_with_cmake(root, tmp_path / "build")
    shown = run(tool("ctest"), "--test-dir", tmp_path / "build", "-V")
    assert shown.count(f"{name} out") == outputs_of(model)
    assert f"{name}: PASS" in shown


@needs_make
def test_a_second_project_uses_what_was_installed(tmp_path: Path) -> None:
    """Built, tested, installed and found, in folders with a space and an umlaut; then moved."""
    root = written(cmake.make(project("digits")), tmp_path / "mein Gerät" / "digits")
    build, prefix = tmp_path / "mein Gerät" / "build", tmp_path / "mein Gerät" / "installiert"
    build_with_cmake(root, build, "-DCMAKE_BUILD_TYPE=Release")
    assert "100% tests passed" in run(tool("ctest"), "--test-dir", build)
    run(tool("cmake"), "--install", build, "--prefix", prefix)
    installed = sorted(path.relative_to(prefix).as_posix() for path in prefix.rglob("*.h"))
    assert installed == ["include/digits/digits.h", "include/digits/tinydeploy.h"]
    shutil.rmtree(root)
    moved = prefix.rename(tmp_path / "anderswo ü")
    user = tmp_path / "user"
    user.mkdir()
    (user / "CMakeLists.txt").write_text(USER)
    for name in ("main.c", "main.cpp"):
        (user / name).write_text(PROGRAM)
    configure = [tool("cmake"), "-G", "Unix Makefiles", "-S", user, "-B", user / "build"]
    run(*configure, f"-DCMAKE_PREFIX_PATH={moved}", CC="gcc")
    run(tool("cmake"), "--build", user / "build")
    for program in ("in_c", "in_cpp"):
        run(user / "build" / program)


@needs_make
@pytest.mark.skipif(shutil.which("arm-none-eabi-gcc") is None, reason="arm-none-eabi-gcc is not installed")
def test_a_toolchain_file_says_what_the_core_needs(tmp_path: Path) -> None:
    """Inside another project, without the example; the package adds one flag, which can be left out."""
    written(cmake.make(project("digits", "cortex-m4")), tmp_path / "digits")
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.15)\nproject(firmware LANGUAGES C)\nadd_subdirectory(digits)\n"
    )
    (tmp_path / "arm.cmake").write_text(TOOLCHAIN)
    configure = [tool("cmake"), "-G", "Unix Makefiles", "-S", tmp_path, "-B", tmp_path / "build"]
    run(*configure, f"-DCMAKE_TOOLCHAIN_FILE={tmp_path / 'arm.cmake'}", "-DCMAKE_BUILD_TYPE=Release")
    shown = run(tool("cmake"), "--build", tmp_path / "build", "--verbose")
    lines = [line for line in shown.splitlines() if "-c " in line and "digits.c" in line]
    assert len(lines) == 1
    flags = [flag for flag in lines[0].split() if flag.startswith("-f")]
    assert flags == ["-ffp-contract=off"]
    assert "digits_example" not in shown
    run(*configure, "-DDIGITS_SAME_BITS=OFF")
    assert "-ffp-contract" not in run(tool("cmake"), "--build", tmp_path / "build", "--verbose")


@needs_make
def test_a_name_that_cmake_keeps_for_itself(tmp_path: Path) -> None:
    made = compile_graph(load(model_path()), target_of("host"), name="test")
    tree = cmake.make(make_project(made, None))
    assert "add_library(test_library STATIC" in text_of(tree, "CMakeLists.txt")
    build_with_cmake(written(tree, tmp_path / "package"), tmp_path / "build")
    assert "100% tests passed" in run(tool("ctest"), "--test-dir", tmp_path / "build")


def test_the_readme_tells_figures_and_how_to_make_it_again() -> None:
    found = make_project(compiled("digits", "cortex-m7"), load_board("nucleo-f746"))
    text = text_of(cmake.make(found), "README.md")
    assert "tinydeploy export MODEL --format cmake --board nucleo-f746 --name digits -o FOLDER" in text
    assert f"| arena | {found.compiled.plan.arena_bytes:,} |" in text
    assert "`int8_t *digits_in0(digits_t *m)`" in text
    assert "Apache License 2.0" in text
