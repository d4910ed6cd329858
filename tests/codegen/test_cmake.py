"""A CMake project of a user's own adds a compiled library and links it into C and C++ programs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tinydeploy.build import compile_graph, write_files
from tinydeploy.demo import model_path, samples
from tinydeploy.frontends import load
from tinydeploy.ir import Array
from tinydeploy.kernels.targets import target_of
from tinydeploy.ops.interpreter import Interpreter

PROJECT = """\
cmake_minimum_required(VERSION 3.13)
project(user C CXX)
set(CMAKE_COMPILE_WARNING_AS_ERROR ON)
add_subdirectory(digits)
add_executable(in_c main.c)
add_executable(in_cpp main.cpp)
foreach(program in_c in_cpp)
    target_compile_options(${program} PRIVATE -Wall -Wextra -Wpedantic -Wconversion)
    target_link_libraries(${program} PRIVATE digits)
endforeach()
"""

PROGRAM = """\
#include <stdio.h>

#include "digits.h"

static uint8_t arena[DIGITS_ARENA_BYTES] TD_ALIGNED(TD_ALIGN_BYTES);

int main(void)
{
    digits_t model;
    if (digits_init(&model, arena, sizeof arena) != TD_OK) {
        return 1;
    }
    while (fread(digits_in0(&model), 1, DIGITS_IN0_BYTES, stdin) == DIGITS_IN0_BYTES) {
        if (digits_run(&model) != TD_OK) {
            return 2;
        }
        fwrite(digits_out0(&model), 1, DIGITS_OUT0_BYTES, stdout);
    }
    return 0;
}
"""

IMAGES = 16


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The build folder of the user's project."""
    folder = tmp_path_factory.mktemp("cmake")
    write_files(compile_graph(load(model_path()), target_of("host")).library.files, folder / "digits")
    (folder / "CMakeLists.txt").write_text(PROJECT)
    for name in ("main.c", "main.cpp"):
        (folder / name).write_text(PROGRAM)
    cmake = str(Path(sys.executable).with_name("cmake"))
    _run(cmake, "-G", "Unix Makefiles", "-DCMAKE_BUILD_TYPE=Release", "-S", ".", "-B", "build", folder=folder)
    _run(cmake, "--build", "build", folder=folder)
    return folder / "build"


@pytest.fixture(scope="module")
def expected() -> Array:
    interpreter = Interpreter(load(model_path()))
    return np.concatenate([interpreter.run((image[None],))[0] for image in samples()[0][:IMAGES]])


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("program", ["in_c", "in_cpp"])
def test_a_cmake_project_gets_the_reference_answers(built: Path, expected: Array, program: str) -> None:
    stdin = samples()[0][:IMAGES].tobytes()
    done = subprocess.run([str(built / program)], input=stdin, capture_output=True, check=True)
    np.testing.assert_array_equal(np.frombuffer(done.stdout, np.int8).reshape(expected.shape), expected)


def _run(*command: str, folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
