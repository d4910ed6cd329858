"""The ten activations of data/cases/g12: ONNX Runtime's numbers, no warning of any compiler, no double."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from tests.shared_data import SHARED, needs_shared
from tinydeploy.build import Compiled, compile_graph, write_files
from tinydeploy.emulate.host import build_host
from tinydeploy.frontends import load
from tinydeploy.kernels.targets import target_of
from tinydeploy.toolchain import HOST, select

pytestmark = needs_shared

CASE = SHARED / "cases" / "g12_float_no_warnings"
TOLERANCE = 2e-6
WARNINGS = [
    *("-O2", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wdouble-promotion", "-Wshadow"),
    *("-Wundef", "-Wvla", "-Werror"),
]
C99 = ["-std=c99", "-Wmissing-prototypes"]
CORTEX_M4F = ["-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"]
COMPILERS = {
    "gcc": [*C99, "-Wcast-align=strict"],
    "g++": ["-x", "c++", "-std=c++11", "-Wcast-align=strict"],
    "clang": [*C99, "-Wcast-align"],
    "arm-none-eabi-gcc": [*C99, "-Wcast-align=strict", *CORTEX_M4F],
}


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    return compile_graph(load(CASE / "model.onnx"), target_of("host"), name="g12")


def test_the_outputs_are_those_of_onnx_runtime(compiled: Compiled, tmp_path: Path) -> None:
    with np.load(CASE / "input.npz") as given, np.load(CASE / "expected.npz") as wanted:
        sample, expected = (given["in0"],), wanted["out0"]
    program = build_host(compiled, tmp_path, select("gcc", HOST, sanitize=True), optimize="-O1")
    (answer,) = program.run([sample])
    np.testing.assert_allclose(answer.outputs[0], expected, rtol=0, atol=TOLERANCE)


@pytest.mark.parametrize("compiler", COMPILERS)
def test_no_compiler_warns(compiler: str, compiled: Compiled, tmp_path: Path) -> None:
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    write_files(compiled.library.files, tmp_path)
    for source in compiled.library.sources:
        command = [compiler, *COMPILERS[compiler], *WARNINGS, "-c", source, "-o", f"{source}.o"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        if compiler.startswith("arm"):
            assert wanted_by(tmp_path / f"{source}.o") == []


def wanted_by(built: Path) -> list[str]:
    """The symbols that an object does not define: any of double arithmetic would be among them."""
    with built.open("rb") as stream:
        symbols = ELFFile(stream).get_section_by_name(".symtab")
        assert isinstance(symbols, SymbolTableSection)
        return [
            symbol.name
            for symbol in symbols.iter_symbols()
            if symbol["st_shndx"] == "SHN_UNDEF" and symbol.name
        ]
