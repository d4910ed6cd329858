"""The component for ESP-IDF: its manifests keep to the format, CMake runs its build, its example passes.

No compiler for Espressif's Xtensa cores is at hand: gcc for RV32IMC, which is the core of the ESP32-C3,
stands for it, and where it is installed gcc for the ESP8266's Xtensa core, without any of ESP-IDF.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.export.metadata import espidf as rules
from tests.export.metadata.tree import path_faults, text_faults, text_of
from tests.export.stub_build import (
    MODELS,
    STUBS,
    build_with_cmake,
    compile_for,
    damaged,
    needs_make,
    outputs_of,
    project,
    run_example,
    sources_below,
    written,
)
from tinydeploy.boards import load_board
from tinydeploy.errors import TinyDeployError
from tinydeploy.export import espidf
from tinydeploy.resources import runtime_dir
from tinydeploy.toolchain import C11, WARNINGS
from tinydeploy.toolchain.flags import COMMON

IDF = STUBS / "esp_idf"
ROOT = "tinydeploy_digits"
EXAMPLE = f"{ROOT}/examples/digits_inference"
XTENSA = "xtensa-lx106-elf-gcc"


@pytest.mark.parametrize("model", MODELS)
def test_the_manifests_keep_to_the_format(model: str) -> None:
    tree = espidf.make(project(model))
    assert [*rules.faults(tree), *path_faults(tree), *text_faults(tree)] == []


@needs_make
@pytest.mark.parametrize(
    ("model", "toolchain"), [*((model, "gcc") for model in ("digits", "mixed", "hostile")), ("digits", "zig")]
)
def test_the_example_runs(model: str, toolchain: str, tmp_path: Path) -> None:
    name = project(model).name
    root = written(espidf.make(project(model)), tmp_path / "components") / f"tinydeploy_{name}"
    example = root / "examples" / f"{name}_inference"
    build_with_cmake(example, tmp_path / "build", toolchain=toolchain, idf=IDF)
    run_example(tmp_path / "build" / f"{name}_inference", name, outputs_of(model))


def _c_files(folder: Path, core: str) -> tuple[list[Path], list[Path]]:
    """All that needs no C library, and the folders of the headers."""
    root = written(espidf.make(project("digits", core)), folder) / ROOT
    main = root / "examples" / "digits_inference" / "main"
    sources = [path for path in (*sources_below(root / "src"), *sources_below(main)) if path.stem != "main"]
    return sources, [root / "src", main]


def test_the_c_compiles_for_the_riscv_core(tmp_path: Path) -> None:
    sources, include_dirs = _c_files(tmp_path / "components", "rv32imc")
    compile_for("rv32imc", sources, include_dirs, tmp_path / "o")


@pytest.mark.skipif(shutil.which(XTENSA) is None, reason=f"{XTENSA} is not installed")
def test_the_c_compiles_for_an_xtensa_core(tmp_path: Path) -> None:
    """The attributes of kernels, and the component's own options, are fine with gcc for Xtensa."""
    sources, include_dirs = _c_files(tmp_path / "components", "xtensa-lx7")
    flags = [*C11, *COMMON, *WARNINGS, "-O3", "-ffreestanding", "-mlongcalls"]
    flags += ["-isystem", str(runtime_dir() / "libc"), *(f"-I{folder}" for folder in include_dirs)]
    for source in sources:
        command = [XTENSA, *flags, "-c", str(source), "-o", str(tmp_path / f"{source.stem}.o")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr


def test_a_board_chooses_the_target() -> None:
    tree = espidf.make(replace(project("digits"), board=load_board("esp32-c3-devkitm-1")))
    assert 'targets:\n  - "esp32c3"\n' in text_of(tree, f"{ROOT}/idf_component.yml")
    assert "idf.py set-target esp32c3" in text_of(tree, f"{ROOT}/README.md")
    assert list(rules.faults(tree)) == []
    assert "targets:" not in text_of(espidf.make(project("digits")), f"{ROOT}/idf_component.yml")


def test_the_readme_says_first_that_kernels_are_scalar() -> None:
    readme = text_of(espidf.make(project("digits", "xtensa-lx7")), f"{ROOT}/README.md")
    assert readme.index("scalar C on every chip of Espressif's") < readme.index("| memory |")


def test_a_board_of_another_maker_is_refused() -> None:
    espidf.check_board(None)
    espidf.check_board(load_board("esp32-c3-devkitm-1"))
    with pytest.raises(TinyDeployError) as caught:
        espidf.check_board(load_board("nucleo-f746"))
    assert caught.value.where.endswith("nucleo-f746.toml")
    assert caught.value.what == "ESP-IDF does not build for the board nucleo-f746"
    assert caught.value.fix == (
        "Name a board with a chip of Espressif's, or name --core alone; in a board file of yours set esp_idf "
        "in [framework]"
    )


@pytest.mark.parametrize(
    ("path", "old", "new", "fault"),
    [
        (f"{ROOT}/idf_component.yml", '"1.0.0"', "1.0", "1.0 is not a string"),
        (f"{ROOT}/idf_component.yml", '"1.0.0"', '"1.0"', "'1.0' does not match"),
        (f"{ROOT}/idf_component.yml", "description:", "summary:", "'summary' is not known"),
        (f"{ROOT}/idf_component.yml", "description:", "summary:", "description is missing"),
        (f"{ROOT}/idf_component.yml", '">=5.0"', '"newer"', r"dependencies\.idf: 'newer'"),
        (f"{ROOT}/idf_component.yml", '- "tinydeploy"', '- "a tag"', "'a tag' does not match"),
        (f"{ROOT}/idf_component.yml", "https:", "git:", "does not match https"),
        (f"{ROOT}/CMakeLists.txt", "idf_component_register", "add_library", "registers no component"),
        (f"{EXAMPLE}/CMakeLists.txt", "include(", "find(", "the three lines of a project in order"),
        (f"{EXAMPLE}/main/CMakeLists.txt", "idf_component_register", "add_library", "registers no component"),
        (f"{EXAMPLE}/main/idf_component.yml", "../../../", "../../", "override_path leads to"),
        (f"{EXAMPLE}/main/idf_component.yml", "tinydeploy_", "tiny__", "does not match"),
        (f"{EXAMPLE}/main/idf_component.yml", "tinydeploy_digits", "digits", "lies in a folder called"),
    ],
)
def test_the_validator_sees_what_is_wrong(path: str, old: str, new: str, fault: str) -> None:
    found = list(rules.faults(damaged(espidf.make(project("digits")), path, old, new)))
    assert any(re.search(fault, text) for text in found), found
