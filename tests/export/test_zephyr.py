"""The Zephyr module: its metadata keep to Zephyr's schemas, CMake runs its build, its sample passes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.export.metadata import zephyr as rules
from tests.export.metadata.tree import path_faults, text_faults, text_of
from tests.export.metadata.yaml_file import read_yaml
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
from tests.shared_data import needs_shared
from tinydeploy.boards import load_board
from tinydeploy.export import zephyr

FIND = f"-DZephyr_DIR={STUBS / 'zephyr' / 'cmake'}"


@pytest.mark.parametrize("model", MODELS)
def test_the_metadata_keep_to_the_schemas(model: str) -> None:
    tree = zephyr.make(project(model))
    assert [*rules.faults(tree), *path_faults(tree), *text_faults(tree)] == []


@needs_make
@pytest.mark.parametrize(
    ("model", "toolchain"),
    [
        ("digits", "gcc"),
        ("mixed", "gcc"),
        ("hostile", "gcc"),
        pytest.param("kws", "gcc", marks=needs_shared),
        ("digits", "zig"),
    ],
)
def test_the_sample_runs_and_prints_what_twister_waits_for(
    model: str, toolchain: str, tmp_path: Path
) -> None:
    name = project(model).name
    tree = zephyr.make(project(model))
    root = written(tree, tmp_path / "module")
    build_with_cmake(root / "samples" / name, tmp_path / "build", FIND, toolchain=toolchain)
    printed = run_example(tmp_path / "build" / "app", name, outputs_of(model))
    sample: Any = read_yaml(text_of(tree, f"samples/{name}/sample.yaml"))
    (regex,) = sample["tests"][f"tinydeploy.{name}"]["harness_config"]["regex"]
    assert re.search(regex, printed)


@needs_make
def test_without_its_option_the_module_adds_nothing(tmp_path: Path) -> None:
    tree = zephyr.make(project("digits"))
    off = damaged(tree, "samples/digits/prj.conf", "CONFIG_TINYDEPLOY_DIGITS=y\n", "")
    root = written(off, tmp_path / "module")
    with pytest.raises(AssertionError, match=r"digits\.h"):
        build_with_cmake(root / "samples" / "digits", tmp_path / "build", FIND)


@pytest.mark.parametrize("core", ["cortex-m4", "rv32imc"])
def test_the_c_compiles_for_the_core(core: str, tmp_path: Path) -> None:
    root = written(zephyr.make(project("digits", core)), tmp_path / "module")
    sample = root / "samples" / "digits" / "src"
    sources = [path for path in (*sources_below(root / "src"), *sources_below(sample)) if path.stem != "main"]
    compile_for(core, sources, [root / "src", sample], tmp_path / "o")


def test_the_readme_and_the_test_name_the_board_where_zephyr_knows_it() -> None:
    nucleo = zephyr.make(replace(project("digits"), board=load_board("nucleo-f746")))
    assert "west build -b nucleo_f746zg samples/digits" in text_of(nucleo, "README.md")
    assert '- "nucleo_f746zg"' in text_of(nucleo, "samples/digits/sample.yaml")
    assert list(rules.faults(nucleo)) == []


@pytest.mark.parametrize(
    ("path", "old", "new", "fault"),
    [
        ("zephyr/module.yml", "build:", "biuld:", "'biuld' is not known"),
        ("zephyr/module.yml", '"tinydeploy_digits"', "no", "False is not a string"),
        ("zephyr/module.yml", '"zephyr"', '"elsewhere"', "there is no elsewhere/CMakeLists.txt"),
        ("zephyr/module.yml", "zephyr/Kconfig", "Kconfig.txt", "there is no Kconfig.txt"),
        ("zephyr/module.yml", '- "samples"', '- "demos"', "nothing below demos"),
        ("zephyr/module.yml", "name:", "name: a\nname:", r"the keys \['name'\] come twice"),
        ("zephyr/Kconfig", "config TINY", "config tiny", "is not a symbol"),
        ("zephyr/Kconfig", "\tbool", "  bool", "is not understood"),
        ("zephyr/CMakeLists.txt", "CONFIG_TINY", "CONFIG_HUGE", "which zephyr/Kconfig does not define"),
        ("samples/digits/sample.yaml", "one_line", "lines", "'lines' is not one of"),
        ("samples/digits/sample.yaml", "tests:", "test:", "tests is missing"),
        ("samples/digits/sample.yaml", "tinydeploy.digits:", "digits:", "key: 'digits' does not match"),
        ("samples/digits/prj.conf", "CONFIG_MAIN", "MAIN", "is not understood"),
        ("samples/digits/CMakeLists.txt", "find_package(Zephyr", "find_package(Wind", "does not look for Z"),
    ],
)
def test_the_validator_sees_what_is_wrong(path: str, old: str, new: str, fault: str) -> None:
    found = list(rules.faults(damaged(zephyr.make(project("digits")), path, old, new)))
    assert any(re.search(fault, text) for text in found), found
