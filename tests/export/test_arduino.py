"""The Arduino library: its metadata keep to the specification, its sketch runs, its C is for the core."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from tests.export.metadata import arduino as rules
from tests.export.metadata.tree import path_faults, text_faults
from tests.export.stub_build import (
    MODELS,
    STUBS,
    compile_for,
    compiled,
    damaged,
    outputs_of,
    project,
    run_example,
    sources_below,
    written,
)
from tinydeploy.boards import load_board
from tinydeploy.build import compile_graph
from tinydeploy.errors import TinyDeployError
from tinydeploy.export import arduino, make_project
from tinydeploy.kernels.targets import target_of
from tinydeploy.toolchain import C_ONLY_WARNINGS, CPP11, HOST, WARNINGS, select

# Cores compile sketches so.
CPLUSPLUS = ("-fno-exceptions", "-fno-rtti")


@pytest.mark.parametrize("model", MODELS)
def test_the_metadata_keep_to_the_specification(model: str) -> None:
    tree = arduino.make(project(model))
    assert [*rules.faults(tree), *path_faults(tree), *text_faults(tree)] == []


@pytest.mark.parametrize(
    ("model", "toolchain"), [*((model, "gcc") for model in ("digits", "mixed", "hostile")), ("digits", "zig")]
)
def test_the_sketch_runs(model: str, toolchain: str, tmp_path: Path) -> None:
    """As an Arduino core builds it: C as C, the sketch as C++ behind Arduino.h, every file below src."""
    name = project(model).name
    root = written(arduino.make(project(model)), tmp_path / "library")
    sketch = root / "examples" / f"{name}_inference"
    main = tmp_path / "main.cpp"
    text = (sketch / f"{name}_inference.ino").read_text()
    main.write_text((STUBS / "arduino" / "main.cpp.in").read_text().replace("@SKETCH@", text))
    compiler = select(toolchain, HOST)
    include_dirs = [root / "src", sketch, STUBS / "arduino"]
    objects = compiler.compile(
        [*sources_below(root / "src"), *sources_below(sketch)],
        include_dirs=include_dirs,
        out_dir=tmp_path / "c",
        optimize="-O1",
    )
    objects += compiler.compile(
        [main],
        include_dirs=include_dirs,
        out_dir=tmp_path / "cpp",
        language=CPP11,
        warnings=[flag for flag in WARNINGS if flag not in C_ONLY_WARNINGS],
        extra=CPLUSPLUS,
    )
    run_example(compiler.link_host(objects, tmp_path / "sketch"), name, outputs_of(model))


@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m4"])
def test_the_c_compiles_for_the_core(core: str, tmp_path: Path) -> None:
    root = written(arduino.make(project("digits", core)), tmp_path / "library")
    sketch = root / "examples" / "digits_inference"
    sources = [*sources_below(root / "src"), *sources_below(sketch)]
    compile_for(core, sources, [root / "src", sketch], tmp_path / "o")


def test_keywords_are_the_words_of_the_interface_alone() -> None:
    """The text of a model's names stands in comments of the header; none of it becomes a keyword."""
    tree = arduino.make(project("hostile"))
    name = project("hostile").name
    words = re.findall(r"^(\w+)\t(\w+)$", str(tree["keywords.txt"]), re.MULTILINE)
    assert (f"{name}_t", "KEYWORD1") in words
    assert (f"{name}_run", "KEYWORD2") in words
    assert (f"{name.upper()}_ARENA_BYTES", "LITERAL1") in words
    assert all(word.lower().startswith(f"{name}_") for word, _ in words)


def test_the_readme_names_the_board_where_the_core_knows_it() -> None:
    pico = replace(project("digits"), board=load_board("rpi-pico"))
    assert "--fqbn rp2040:rp2040:rpipico --library" in str(arduino.make(pico)["README.md"])
    assert "--fqbn BOARD --library" in str(arduino.make(project("digits"))["README.md"])


def test_the_readme_warns_where_constants_lie_in_ram() -> None:
    assert "On AVR boards constants lie in RAM" in str(arduino.make(project("digits", "avr"))["README.md"])
    assert "constants lie in RAM" not in str(arduino.make(project("digits"))["README.md"])


def test_a_name_that_hides_the_cores_header_is_refused() -> None:
    taken = compile_graph(compiled("digits").graph, target_of("cortex-m4"), name="arduino")
    with pytest.raises(TinyDeployError) as caught:
        arduino.make(make_project(taken, None))
    assert (
        str(caught.value) == "the name 'arduino' is taken by Arduino's own Arduino.h. Choose another --name"
    )


@pytest.mark.parametrize(
    ("path", "old", "new", "fault"),
    [
        ("library.properties", "name=tinydeploy", "name=Arduino_tinydeploy", "is reserved for Arduino's own"),
        ("library.properties", "name=", "name=_", "has other than letters"),
        ("library.properties", "version=1.0.0", "version=1.0.1c", "is no semantic version"),
        ("library.properties", "version=1.0.0\n", "", "version is missing or empty"),
        ("library.properties", "category=Data Processing", "category=Networks", "is not one of"),
        ("library.properties", "architectures=*", "architectures=a b", "is neither \\* nor a list"),
        ("library.properties", "includes=", "includes=missing_", "which is not in src"),
        ("library.properties", "url=https", "url=ftp", "is no address"),
        ("library.properties", "author=", "name=", "name comes twice"),
        ("library.properties", "author=", "colour=", "colour is not a field"),
        ("library.properties", "author=", "author ", "line 3 is not key=value"),
        ("library.properties", "paragraph=", "paragraph=The neural network digits as plain C. ", "repeats"),
        ("keywords.txt", "digits_t\t", "digits_t ", "not a word, one tab and its kind"),
        ("keywords.txt", "KEYWORD1", "KEYWORD9", "'KEYWORD9' is not one of"),
    ],
)
def test_the_validator_sees_what_is_wrong(path: str, old: str, new: str, fault: str) -> None:
    found = list(rules.faults(damaged(arduino.make(project("digits")), path, old, new)))
    assert any(re.search(fault, text) for text in found), found


def test_the_validator_sees_what_lies_at_the_wrong_place() -> None:
    tree = arduino.make(project("digits"))
    moved = {
        **tree,
        "digits.c": "",
        "src/CMakeLists.txt": "",
        "examples/other/main.ino": "",
        "utility/a.c": "",
    }
    assert sorted(rules.faults(moved)) == [
        "digits.c: sources belong into src",
        "examples/other has no other.ino",
        "src/CMakeLists.txt: src holds sources only",
        "utility/a.c: folder of the old layout, not compiled beside src",
    ]
    assert list(path_faults({**tree, "../x": "", "readme.md": ""})) == [
        "'../x' is not a plain relative path",
        "'../x' leaves the tree",
        "'readme.md' and 'README.md' differ in case only",
    ]
