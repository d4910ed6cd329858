"""The CMSIS-Pack: its description keeps to the schema, what it lists builds and runs, its archive is the same
every time.

The tools that install packs and build csolution projects are not at hand: the example is built from the files
that the description and the project name.
"""

from __future__ import annotations

import io
import re
import zipfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.export.metadata import pdsc as rules
from tests.export.metadata.tree import path_faults, text_faults, text_of
from tests.export.metadata.yaml_file import mapping, one_of, read_yaml, sequence, string
from tests.export.stub_build import (
    MODELS,
    compile_for,
    compiled,
    damaged,
    outputs_of,
    project,
    run_example,
    written,
)
from tinydeploy.boards import load_board
from tinydeploy.build import compile_graph
from tinydeploy.errors import TinyDeployError
from tinydeploy.export import Tree, cmsis_pack, make_project
from tinydeploy.kernels.targets import target_of
from tinydeploy.toolchain import HOST, select

PDSC = "TinyDeploy.digits.pdsc"
PACK = "TinyDeploy.digits.1.0.0.pack"
EXAMPLE = "examples/digits_inference"

_NAMES = sequence(string())
SOLUTION = mapping(
    {
        "solution": mapping(
            {
                "created-for": string(r"CMSIS-Toolbox@\d+\.\d+\.\d+"),
                "select-compiler": sequence(mapping({"compiler": one_of("GCC", "AC6", "CLANG", "IAR")})),
                "packs": sequence(mapping({"pack": string(r"[\w-]+::[\w-]+(@.+)?")}, ("pack",))),
                "target-types": sequence(
                    mapping({"type": string(r"[\w-]{1,32}"), "device": string()}, ("type", "device"))
                ),
                "build-types": sequence(
                    mapping(
                        {
                            "type": string(r"[\w-]{1,32}"),
                            "optimize": one_of("none", "debug", "balanced", "size", "speed"),
                            "debug": one_of("on", "off"),
                        },
                        ("type",),
                    )
                ),
                "projects": sequence(mapping({"project": string(r".+\.cproject\.yml")}, ("project",))),
            },
            ("target-types", "projects"),
        )
    },
    ("solution",),
)
PROJECT = mapping(
    {
        "project": mapping(
            {
                "misc": sequence(mapping({"for-compiler": string(), "C": _NAMES, "Link": _NAMES})),
                "components": sequence(mapping({"component": string()}, ("component",))),
                "groups": sequence(
                    mapping(
                        {"group": string(), "files": sequence(mapping({"file": string()}, ("file",)))},
                        ("group",),
                    )
                ),
            }
        )
    },
    ("project",),
)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m4", "cortex-m55"])
def test_the_description_keeps_to_the_schema(model: str, core: str) -> None:
    tree = cmsis_pack.make(project(model, core))
    assert [*rules.faults(tree), *path_faults(tree), *text_faults(tree)] == []


def _listed(tree: Tree, root: Path, name: str) -> tuple[list[Path], list[Path]]:
    """The sources and the folders of headers that the description and the example's project name."""
    files = list(ElementTree.fromstring(text_of(tree, f"TinyDeploy.{name}.pdsc")).iter("file"))
    example = f"examples/{name}_inference"
    data: Any = read_yaml(text_of(tree, f"{example}/{name}.cproject.yml"))
    own = [root / example / entry["file"] for group in data["project"]["groups"] for entry in group["files"]]
    sources = [root / file.attrib["name"] for file in files if file.get("category") == "sourceC"]
    headers = [root / file.attrib["name"] for file in files if file.get("category") == "include"]
    return [*sources, *own], [*headers, root / example]


@pytest.mark.parametrize(
    ("model", "toolchain"), [*((model, "gcc") for model in ("digits", "mixed", "hostile")), ("digits", "zig")]
)
def test_what_the_description_lists_runs(model: str, toolchain: str, tmp_path: Path) -> None:
    name = project(model).name
    tree = cmsis_pack.make(project(model))
    sources, include_dirs = _listed(tree, written(tree, tmp_path / "pack"), name)
    compiler = select(toolchain, HOST)
    objects = compiler.compile(sources, include_dirs=include_dirs, out_dir=tmp_path / "o", optimize="-O1")
    run_example(compiler.link_host(objects, tmp_path / "example"), name, outputs_of(model))


@pytest.mark.parametrize("core", ["cortex-m0", "cortex-m4", "cortex-m55"])
def test_the_c_compiles_for_the_core(core: str, tmp_path: Path) -> None:
    tree = cmsis_pack.make(project("digits", core))
    sources, include_dirs = _listed(tree, written(tree, tmp_path / "pack"), "digits")
    compile_for(core, [path for path in sources if path.stem != "main"], include_dirs, tmp_path / "o")


@pytest.mark.parametrize("model", MODELS)
def test_the_example_is_a_csolution_project(model: str) -> None:
    name = project(model).name
    tree = cmsis_pack.make(project(model))
    example = f"examples/{name}_inference"
    solution: Any = read_yaml(text_of(tree, f"{example}/{name}.csolution.yml"))
    content: Any = read_yaml(text_of(tree, f"{example}/{name}.cproject.yml"))
    assert [*SOLUTION(solution, "solution"), *PROJECT(content, "project")] == []
    assert solution["solution"]["projects"] == [{"project": f"./{name}.cproject.yml"}]
    component = ElementTree.fromstring(text_of(tree, f"TinyDeploy.{name}.pdsc")).find("components/component")
    assert component is not None
    vendor, *identity = (component.attrib[key] for key in ("Cvendor", "Cclass", "Cgroup", "Csub"))
    assert {"component": f"{vendor}::{':'.join(identity)}"} in content["project"]["components"]


def test_the_archive_is_the_tree_and_the_same_every_time() -> None:
    tree = cmsis_pack.make(project("digits"))
    again = cmsis_pack.make(
        make_project(compile_graph(compiled("digits").graph, target_of("cortex-m4")), None)
    )
    assert tree == again
    packed = tree[PACK]
    assert isinstance(packed, bytes)
    with zipfile.ZipFile(io.BytesIO(packed)) as file:
        assert set(file.namelist()) == tree.keys() - {PACK}
        assert file.testzip() is None


@pytest.mark.parametrize(
    ("core", "accepted", "refused"),
    [
        ("cortex-m0", 'Dcore="Cortex-M0+"', "Ddsp"),
        ("cortex-m4", 'Dcore="Cortex-M33" Ddsp="DSP"', 'Dcore="Cortex-M3"'),
        ("cortex-m55", 'Dcore="Cortex-M85" Dmve="FP_MVE"', 'Dcore="Cortex-M7"'),
        ("host", 'Dcore="Cortex-M0"', "Dmve"),
    ],
)
def test_the_condition_asks_for_what_the_kernels_use(core: str, accepted: str, refused: str) -> None:
    cores = cmsis_pack.accepted_cores(target_of(core))
    assert accepted in cores
    assert not [line for line in cores if refused in line]


def test_names_that_are_too_long_for_a_component_stay_apart() -> None:
    graph = compiled("digits").graph
    name = "a_name_of_the_forty_characters_possible"
    tree = cmsis_pack.make(make_project(compile_graph(graph, target_of("cortex-m4"), name=name), None))
    assert list(rules.faults(tree)) == []
    assert re.search(r'Csub="a_name_of_the_forty_cha_[0-9a-f]{8}"', text_of(tree, f"TinyDeploy.{name}.pdsc"))


def test_a_board_with_another_core_is_refused() -> None:
    cmsis_pack.check_board(None)
    cmsis_pack.check_board(load_board("nucleo-f746"))
    with pytest.raises(TinyDeployError) as caught:
        cmsis_pack.check_board(load_board("qemu-rv32"))
    assert caught.value.what == "CMSIS-Packs are for Arm Cortex cores, qemu-rv32 has rv32imc"
    assert caught.value.fix == "Choose another --format or --board"


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("<vendor>TinyDeploy</vendor>", "", "package: vendor is missing"),
        (
            "<vendor>TinyDeploy</vendor>",
            "<vendor>Tiny Deploy</vendor>",
            "the text 'Tiny Deploy' is not allowed",
        ),
        ("<vendor>TinyDeploy</vendor>", "<vendor>Other</vendor>", r"must be called Other\.digits\.pdsc"),
        ('schemaVersion="1.7.7"', "", "attribute schemaVersion is missing"),
        ('release version="1.0.0"', 'release version="1.0"', "version='1.0' is not allowed"),
        ('release version="1.0.0"', 'release version="1.0.1"', r"must be called TinyDeploy\.digits\.1\.0\.1"),
        ("<license>LICENSE</license>", "<license>COPYING</license>", "COPYING is named but not in the pack"),
        ("<releases>", "<colour/><releases>", "package/colour is not an element"),
        ('Tcompiler="GCC"', 'Tcompiler="gcc"', "Tcompiler='gcc' is not allowed"),
        ('Dcore="Cortex-M4"', 'Dcore="Cortex M4"', "Dcore='Cortex M4' is not allowed"),
        ('require condition="Core"', 'require condition="Gone"', "the condition 'Gone' is not defined"),
        ('require condition="Core"', 'require condition="Model"', "the condition 'Model' needs itself"),
        ('accept Tcompiler="GCC"', 'accept Tgcc="1"', "attribute Tgcc is not known"),
        ('Cversion="1.0.0"', 'Cversion="one"', "Cversion='one' is not allowed"),
        ('category="sourceC"', 'category="sourcec"', "category='sourcec' is not allowed"),
        ('name="src/"', 'name="src"', "is not a folder of the pack, with / at its end"),
        ('name="src/digits.c"', 'name="src/gone.c"', "src/gone.c is named but not in the pack"),
        ('load="digits.csolution.yml"', 'load="x.csolution.yml"', "x.csolution.yml is named but not in"),
        ("<files>", "<files>text", "holds the text 'text'"),
        ("</package>", "", "no element found"),
    ],
)
def test_the_validator_sees_what_is_wrong(old: str, new: str, fault: str) -> None:
    found = list(rules.faults(damaged(cmsis_pack.make(project("digits")), PDSC, old, new)))
    assert any(re.search(fault, text) for text in found), found


def test_the_validator_sees_a_wrong_order() -> None:
    text = "<example name='a' folder='b' doc='c'><project/><description/></example>"
    path = "package/examples/example"
    assert f"{path}: the order is ['project', 'description'], not" in next(
        fault
        for fault in rules.structure_faults(ElementTree.fromstring(text), path)
        if fault.startswith(f"{path}:")
    )


def test_the_validator_looks_into_the_archive() -> None:
    tree = cmsis_pack.make(project("digits"))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.writestr("sub/README.md", "other")
    assert sorted(rules.faults({**tree, PACK: stream.getvalue()}))[0].startswith(
        f"{PACK} has no {PDSC} in its root"
    )
    assert any("is dated" in fault for fault in rules.faults({**tree, PACK: stream.getvalue()}))
    assert any(
        "is not the file of the tree" in fault for fault in rules.faults({**tree, PACK: stream.getvalue()})
    )
