"""What all formats share: the test vector, the example, the quoting rules, and trees on disk."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codegen.test_interface import HOSTILE, mixed_graph
from tests.export.stub_build import compiled, project
from tinydeploy.build import compile_graph
from tinydeploy.codegen.literals import CIdent, Raw
from tinydeploy.errors import TinyDeployError
from tinydeploy.export import Project, TestVector, Tree, example, make_project, write_tree
from tinydeploy.export.example import RELATIVE, example_files, example_sources
from tinydeploy.export.text import (
    CMakeText,
    IniText,
    JsonText,
    KconfigText,
    LineText,
    MarkdownText,
    Word,
    XmlText,
    YamlText,
    finalize,
    render,
)
from tinydeploy.ir import DType, Graph, Quant, Rewriter, TensorType
from tinydeploy.kernels.targets import target_of
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.ops.softmax import Softmax
from tinydeploy.toolchain import C99, C_ONLY_WARNINGS, CPP11, HOST, WARNINGS, select
from tinydeploy.verify import closeness

MAIN = """\
#include <stdio.h>
#include "NAME_example.h"

static void put(const char *text)
{
    fputs(text, stdout);
}

int main(void)
{
    return NAME_example(put);
}
"""


def run_example(made: Project, folder: Path, language: tuple[str, ...] = C99) -> tuple[int, list[str]]:
    """Exit code and lines of the example, compiled with all warnings and sanitizers."""
    files = {**made.library_files(), **example_files(made), "main.c": MAIN.replace("NAME", made.name)}
    write_tree({**files}, folder)
    compiler = select("gcc", HOST, sanitize=True)
    refused = C_ONLY_WARNINGS if language is CPP11 else ()
    objects = compiler.compile(
        [folder / name for name in (*made.sources, *example_sources(made), "main.c")],
        include_dirs=[folder],
        out_dir=folder / "o",
        language=language,
        warnings=[flag for flag in WARNINGS if flag not in refused],
        optimize="-O1",
    )
    program = compiler.link_host(objects, folder / "program")
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


class TestVectors:
    def test_it_is_what_the_reference_computes_and_always_the_same(self) -> None:
        graph = compiled("mixed").graph
        first, again = make_project(compiled("mixed"), None), make_project(compiled("mixed"), None)
        for got, wanted in zip(
            first.vector.outputs, Interpreter(graph).run(first.vector.inputs), strict=True
        ):
            np.testing.assert_array_equal(got, wanted)
        for a, b in zip(first.vector.inputs, again.vector.inputs, strict=True):
            np.testing.assert_array_equal(a, b)
        assert first.vector.exact
        assert [array.dtype.name for array in first.vector.inputs] == ["int8", "int16", "float32"]

    def test_the_users_own_input(self) -> None:
        made = make_project(compiled("digits"), None, [np.zeros((1, 8, 8, 1), np.int8)])
        assert not made.vector.inputs[0].any()
        with pytest.raises(TinyDeployError, match=r"input 0 is int8\[1, 2\], the model wants int8"):
            make_project(compiled("digits"), None, [np.zeros((1, 2), np.int8)])

    def test_int4_has_no_example(self) -> None:
        rewriter = Rewriter.empty("four")
        rewriter.output(rewriter.input("x", TensorType(DType.INT4, (2, 3), Quant((0.5,), (0,)))))
        with pytest.raises(TinyDeployError, match="four: an input or output of type int4 has no example"):
            example_of(rewriter.freeze())

    def test_the_library_comes_without_its_build_file(self) -> None:
        files = project("digits").library_files()
        assert "CMakeLists.txt" not in files
        assert {"digits.h", "digits.c", "digits_weights.c", "tinydeploy.h"} <= set(files)


def example_of(graph: Graph) -> Project:
    return make_project(compile_graph(graph, target_of("host")), None)


def float_graph() -> Graph:
    rewriter = Rewriter.empty("floats")
    type_ = TensorType(DType.FLOAT32, (1, 40))
    (out,) = rewriter.node("s", Softmax(), (rewriter.input("x", type_),), (("y", type_),))
    rewriter.output(out)
    return rewriter.freeze()


def wide_graph() -> Graph:
    """Every integer type passes through, at its limits."""
    rewriter = Rewriter.empty("wide")
    for dtype in (DType.INT64, DType.UINT32, DType.UINT16, DType.UINT8, DType.BOOL):
        low, high = (0, 1) if dtype is DType.BOOL else dtype.limits
        values = np.array([low, high], dtype.numpy)
        rewriter.output(rewriter.constant(dtype.value, TensorType(dtype, (2,)), values))
    return rewriter.freeze()


class TestExample:
    @pytest.mark.parametrize("language", [C99, CPP11], ids=["c99", "c++11"])
    def test_it_prints_every_output_and_passes(self, language: tuple[str, ...], tmp_path: Path) -> None:
        code, lines = run_example(example_of(mixed_graph()), tmp_path, language)
        assert code == 0
        assert [line.split(":")[0] for line in lines] == [f"mixed out{k}" for k in range(4)] + ["mixed"]
        assert lines[-2:] == ["mixed out3: -2147483648 7", "mixed: PASS"]

    def test_the_widest_numbers(self, tmp_path: Path) -> None:
        code, lines = run_example(example_of(wide_graph()), tmp_path)
        assert code == 0
        assert lines == [
            "wide out0: -9223372036854775808 9223372036854775807",
            "wide out1: 0 4294967295",
            "wide out2: 0 65535",
            "wide out3: 0 255",
            "wide out4: 0 1",
            "wide: PASS",
        ]

    def test_floats_are_close_and_long_outputs_are_cut(self, tmp_path: Path) -> None:
        made = example_of(float_graph())
        assert not made.vector.exact
        (wanted,) = made.vector.outputs
        code, lines = run_example(made, tmp_path)
        assert code == 0
        assert lines[0].endswith(" ...")
        shown = [float(word) for word in lines[0].split()[2:-1]]
        assert len(shown) == example.SHOWN
        np.testing.assert_allclose(shown, wanted.reshape(-1)[: example.SHOWN], rtol=1e-5)

    @pytest.mark.parametrize(("relative", "ends"), [(0.5, "PASS"), (3.0, "FAIL")])
    def test_the_tolerance_is_the_verifiers(self, relative: float, ends: str, tmp_path: Path) -> None:
        assert RELATIVE == closeness.RELATIVE
        made = example_of(float_graph())
        (wanted,) = made.vector.outputs
        moved = wanted + np.float32(relative * RELATIVE) * wanted.max()
        shifted = Project(made.compiled, None, TestVector(made.vector.inputs, (moved,), exact=False))
        code, lines = run_example(shifted, tmp_path)
        assert (code, lines[-1]) == (0 if ends == "PASS" else 1, f"floats: {ends}")

    def test_special_floats_pass_by_their_bits(self, tmp_path: Path) -> None:
        rewriter = Rewriter.empty("special")
        type_ = TensorType(DType.FLOAT32, (5,))
        values = np.array([np.nan, np.inf, -np.inf, -0.0, 1e-45], np.float32)
        rewriter.output(rewriter.constant("c", type_, values))
        code, lines = run_example(example_of(rewriter.freeze()), tmp_path)
        assert code == 0
        assert lines[0].startswith("special out0: nan inf -inf 0.000000e0 1.401")

    def test_a_wrong_element_is_named(self, tmp_path: Path) -> None:
        made = project("digits")
        wrong = made.vector.outputs[0].copy()
        wrong[0, 3] += 1
        damaged = Project(made.compiled, None, TestVector(made.vector.inputs, (wrong,), exact=True))
        code, lines = run_example(damaged, tmp_path)
        assert code == 1
        assert lines[1:] == ["digits out0: element 3 is -83, not -82", "digits: FAIL"]

    def test_the_arena_goes_where_a_linker_script_wants_it(self) -> None:
        text = example_files(project("digits"), section=".bss.td_app_arena")["digits_example.c"]
        assert '__attribute__((section(".bss.td_app_arena")));' in text

    def test_hostile_names(self, tmp_path: Path) -> None:
        code, lines = run_example(project("hostile", "host"), tmp_path)
        assert (code, lines[-1]) == (0, f"{project('hostile').name}: PASS")


ANY_TEXT = st.one_of(st.text(), st.sampled_from(HOSTILE), st.text("<>&\"'\\;#$%{}=`*_[]()!|@?\n\r\t~-+. ab"))


class TestQuoting:
    @given(ANY_TEXT)
    def test_json_and_yaml(self, text: str) -> None:
        """Of what these two write, YAML and TOML understand what JSON does."""
        for shown in (str(JsonText(text)), str(YamlText(text))):
            assert shown.isascii()
            assert json.loads(shown) == tomllib.loads(f"x = {shown}")["x"]

    @given(ANY_TEXT)
    def test_xml(self, text: str) -> None:
        shown = str(XmlText(text))
        element = ET.fromstring(f'<a b="{shown}">{shown}</a>')
        assert element.text == element.attrib["b"] or not shown
        assert len(element) == 0

    @given(ANY_TEXT)
    def test_the_others_keep_to_their_place(self, text: str) -> None:
        line = r"[ -~]*"
        assert re.fullmatch(line, str(LineText(text)))
        assert re.fullmatch(r"[^\\;#$%{}=\n]+", str(IniText(text)))
        assert re.fullmatch(r'"([^"\\;$@\n]|\\")*"', str(CMakeText(text)))
        assert re.fullmatch(r'"[^"\\$\n]*"', str(KconfigText(text)))
        assert re.fullmatch(r"([A-Za-z0-9 ]|\\[!-/:-@\[-`{-~])+", str(MarkdownText(text)))
        for kind in (LineText, IniText, CMakeText, KconfigText, MarkdownText):
            assert re.fullmatch(line, str(kind(text)))

    def test_text_is_shown_as_it_is_where_it_can_be(self) -> None:
        assert str(JsonText('a "b"')) == '"a \\"b\\""'
        assert str(XmlText("a < b")) == "a &lt; b"
        assert str(IniText("net; x=1")) == "net<U+003B> x<U+003D>1"
        assert str(MarkdownText("my_net")) == "my\\_net"
        assert str(LineText("a" * 300)) == "a" * 200 + "..."

    def test_templates_print_our_types_alone(self) -> None:
        assert finalize(CIdent("x")) == "x"
        assert finalize(4_000_000_000) == "4000000000"
        for value in ("text", 1.5, True, None):
            with pytest.raises(TypeError, match="a template prints a"):
                finalize(value)
        with pytest.raises(TypeError, match="a template prints a str"):
            render("platformio/main.c.j2", name="kws")
        with pytest.raises(ValueError, match="is not a word"):
            Word("two words")
        assert "x_example(print_text)" in render("platformio/main.c.j2", name=Raw("x"))


TREE: Tree = {"a.txt": "text\n", "b/c/d.bin": b"\x00\xff", "b/e.txt": "ü\n"}


class TestTrees:
    def test_all_files_are_written_and_foreign_ones_stay(self, tmp_path: Path) -> None:
        folder = tmp_path / "new" / "mein Ordner ü"
        write_tree(TREE, folder)
        (folder / "b" / "mine.txt").write_text("mine")
        write_tree({**TREE, "a.txt": "other\n"}, folder)
        found = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*.*")}
        assert found == {
            "a.txt": b"other\n",
            "b/c/d.bin": b"\x00\xff",
            "b/e.txt": "ü\n".encode(),
            "b/mine.txt": b"mine",
        }

    def test_a_folder_in_the_way_changes_nothing(self, tmp_path: Path) -> None:
        folder = tmp_path / "out"
        (folder / "b" / "e.txt").mkdir(parents=True)
        with pytest.raises(TinyDeployError, match=r"e\.txt: cannot write: Is a directory"):
            write_tree(TREE, folder)
        assert sorted(path.name for path in folder.rglob("*")) == ["b", "e.txt"]

    def test_a_file_in_the_way_of_a_folder(self, tmp_path: Path) -> None:
        folder = tmp_path / "out"
        folder.mkdir()
        (folder / "b").write_text("a file")
        with pytest.raises(TinyDeployError, match="cannot write: Not a directory"):
            write_tree(TREE, folder)
        assert [path.name for path in folder.iterdir()] == ["b"]

    def test_a_full_disk_leaves_nothing_behind(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        written: list[str] = []
        whole = Path.write_bytes

        def full(path: Path, data: bytes) -> int:
            written.append(path.name)
            if len(written) == 2:
                raise OSError(28, "No space left on device", str(path))
            return whole(path, data)

        monkeypatch.setattr(Path, "write_bytes", full)
        with pytest.raises(TinyDeployError, match="cannot write: No space left on device"):
            write_tree(TREE, tmp_path / "new" / "out")
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("path", ["../x", "/x", "a/../../x"])
    def test_no_path_leaves_the_folder(self, path: str, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="leaves the tree"):
            write_tree({path: ""}, tmp_path)
