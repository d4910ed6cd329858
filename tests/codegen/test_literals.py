"""Text from a model reaches generated files escaped, or not at all."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinydeploy.codegen.literals import (
    CComment,
    CFloat,
    CIdent,
    CString,
    Raw,
    c_array,
    c_call,
    c_int,
    finalize,
)
from tinydeploy.codegen.names import checked_prefix, prefix_of
from tinydeploy.errors import TinyDeployError

PACKAGE = Path(__file__).resolve().parents[2] / "tinydeploy"
TEMPLATES = sorted(PACKAGE.rglob("*.c.j2")) + sorted(PACKAGE.rglob("*.h.j2"))


@pytest.mark.parametrize("value", ["text", b"bytes", 1.5, None, True, ["list"]])
def test_templates_print_only_our_types(value: object) -> None:
    with pytest.raises(TypeError, match="a template prints a"):
        finalize(value)


def test_our_types_and_integers_are_printed() -> None:
    assert [finalize(v) for v in (CIdent("kws"), Raw("a + b"), 7, -3)] == ["kws", "a + b", "7", "-3"]
    assert c_int(-(1 << 31)) == "(-2147483647 - 1)"


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.name)
def test_templates_mark_as_raw_only_what_they_wrote_themselves(path: Path) -> None:
    """Nothing that hangs on `model`, `port`, `step`, `call` or `function` is declared raw."""
    marked = re.findall(r"\{\{-?\s*([^|}]+?)\s*\|\s*raw", path.read_text())
    views = re.compile(r"\b(model|port|data|function)\.")
    assert not [text for text in marked if views.search(text)]


@given(st.text(max_size=300))
@settings(derandomize=True)
def test_comments_never_end_early(text: str) -> None:
    shown = str(CComment(text))
    assert shown.isascii()
    assert shown.isprintable()
    assert not re.search(r"\*/|/\*|\?\?|\\", shown)


@given(st.text(max_size=80))
@settings(derandomize=True)
def test_identifiers_refuse_what_is_none(text: str) -> None:
    if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text):
        assert str(CIdent(text)) == text
    else:
        with pytest.raises(ValueError, match="is not a C identifier"):
            CIdent(text)


def test_strings_read_back_in_c(tmp_path: Path) -> None:
    texts = ['a "quoted" \\ one', "??/ trigraph", "line\nbreak\x00end", "é輸入\u202e", "1\x01" + "23"]
    body = "\n".join(f"    fwrite({CString(text)}, 1, {len(text.encode())}, stdout);" for text in texts)
    source = tmp_path / "strings.c"
    source.write_text(f"#include <stdio.h>\nint main(void)\n{{\n{body}\n    return 0;\n}}\n")
    program = tmp_path / "strings"
    subprocess.run(["gcc", "-Wall", "-Werror", "-trigraphs", str(source), "-o", str(program)], check=True)
    done = subprocess.run([str(program)], capture_output=True, check=True)
    assert done.stdout == "".join(texts).encode()


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
@settings(derandomize=True)
def test_floats_keep_their_bits(value: float) -> None:
    assert np.float32(str(CFloat(value)).removesuffix("f")) == np.float32(value)


def test_floats_without_a_literal_are_refused() -> None:
    with pytest.raises(ValueError, match="has no C literal"):
        CFloat(float("inf"))


def test_arrays_and_calls_are_wrapped() -> None:
    text = str(c_array(np.arange(-60, 60, dtype=np.int8)))
    assert max(map(len, text.splitlines())) <= 96
    assert [int(n) for n in text.replace("\n", " ").split(",")] == list(range(-60, 60))
    assert str(c_call("f", ["a", "b"], "  ")) == "  f(a, b);"
    assert max(map(len, str(c_call("f", ["argument"] * 40, "    ")).splitlines())) <= 100


@pytest.mark.parametrize(
    ("text", "prefix"),
    [
        ("kws_ref_model", "kws_ref_model"),
        ("MobileNet v2 (1.0)", "mobilenet_v2_1_0"),
        ("3d-net", "m_3d_net"),
        ("int", "m_int"),
        ("td_model", "m_td_model"),
        ("é輸入", "model"),
        ("../../etc/passwd", "etc_passwd"),
        ("x" * 100, "x" * 40),
        ("", "model"),
    ],
)  # fmt: skip
def test_prefixes_are_made_from_anything(text: str, prefix: str) -> None:
    assert prefix_of(text) == prefix
    assert checked_prefix(prefix) == prefix


@pytest.mark.parametrize("name", ["", "Kws", "1x", "a-b", "a__b", "x" * 41, "../x", "é"])
def test_names_that_c_refuses_are_refused(name: str) -> None:
    with pytest.raises(TinyDeployError, match=r"cannot prefix C functions\. Use up to 40 of a-z, 0-9"):
        checked_prefix(name)


@pytest.mark.parametrize("name", ["int", "class", "td", "td_x", "tinydeploy"])
def test_reserved_names_are_refused(name: str) -> None:
    with pytest.raises(TinyDeployError, match=r"is reserved\. Choose another name"):
        checked_prefix(name)
