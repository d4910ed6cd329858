"""Zephyr's schemas of zephyr/module.yml and sample.yaml, Kconfig's grammar, and the files that they name."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Any

from tests.export.metadata.tree import Tree, text_of
from tests.export.metadata.yaml_file import (
    Check,
    either,
    kind,
    mapping,
    mapping_of,
    one_of,
    read_yaml,
    sequence,
    string,
)

_STRINGS = sequence(string())

MODULE = mapping(
    {
        "name": string(),
        "build": mapping(
            {
                "cmake": string(),
                "kconfig": string(),
                "cmake-ext": kind(bool),
                "kconfig-ext": kind(bool),
                "sysbuild-cmake": string(),
                "sysbuild-kconfig": string(),
                "sysbuild-cmake-ext": kind(bool),
                "sysbuild-kconfig-ext": kind(bool),
                "depends": _STRINGS,
                "settings": mapping({f"{key}_root": string() for key in ("board", "dts", "soc", "arch")}),
            }
        ),
        "tests": _STRINGS,
        "samples": _STRINGS,
        "boards": _STRINGS,
    }
)

# Tags are a string of words or a list: both are read.
_TEST: dict[str, Check] = {
    "build_only": kind(bool),
    "filter": string(),
    "harness": one_of("console", "ztest", "pytest", "test", "robot", "ctest"),
    "harness_config": mapping(
        {
            "type": one_of("one_line", "multi_line"),
            "ordered": kind(bool),
            "regex": _STRINGS,
            "fixture": string(),
        },
        ("type", "regex"),
    ),
    "integration_platforms": _STRINGS,
    "platform_allow": _STRINGS,
    "min_ram": kind(int),
    "min_flash": kind(int),
    "tags": either(string(), _STRINGS),
    "timeout": kind(int),
    "extra_args": _STRINGS,
}
SAMPLE = mapping(
    {
        "sample": mapping({"name": string(), "description": string()}, ("name",)),
        "common": mapping(_TEST),
        "tests": mapping_of(r"[a-zA-Z0-9_]+(\.[a-zA-Z0-9_]+)+", mapping(_TEST)),
    },
    ("tests",),
)

_KCONFIG_LINES = {
    "option": r'\tbool "[^"\\]+"|\tdefault [yn]|\tdepends on [A-Z0-9_ !&|()]+',
    "help": r"\t  \S.*",
}


def faults(tree: Tree) -> Iterator[str]:
    """The rules that a module breaks."""
    if "zephyr/module.yml" not in tree:
        yield "there is no zephyr/module.yml"
        return
    try:
        module: Any = read_yaml(text_of(tree, "zephyr/module.yml"))
    except ValueError as error:
        yield f"zephyr/module.yml: {error}"
        return
    found = list(MODULE(module, "module.yml"))
    yield from found
    if found:
        return
    yield from _named_files(tree, module.get("build", {}))
    for sample in module.get("samples", []):
        yield from _sample(tree, sample)


def _named_files(tree: Tree, build: dict[str, str]) -> Iterator[str]:
    cmake = posixpath.normpath(posixpath.join(build.get("cmake", "zephyr"), "CMakeLists.txt"))
    if cmake not in tree:
        yield f"build.cmake: there is no {cmake}"
    kconfig = posixpath.normpath(build.get("kconfig", "zephyr/Kconfig"))
    if kconfig not in tree:
        yield f"build.kconfig: there is no {kconfig}"
    else:
        yield from kconfig_faults(text_of(tree, kconfig))
        symbols = set(re.findall(r"^config (\w+)$", text_of(tree, kconfig), re.MULTILINE))
        used = set(re.findall(r"CONFIG_(\w+)", text_of(tree, cmake)))
        for symbol in sorted(used - symbols):
            yield f"{cmake} asks for CONFIG_{symbol}, which {kconfig} does not define"


def kconfig_faults(text: str) -> Iterator[str]:
    """The subset of Kconfig that options of a library need: a prompt, a default, a help text."""
    options = 0
    state = ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if match := re.fullmatch(r"config (\S+)", line):
            options += 1
            state = "option"
            if not re.fullmatch(r"[A-Z][A-Z0-9_]*", match[1]):
                yield f"Kconfig, line {number}: {match[1]!r} is not a symbol"
        elif state == "option" and line == "\thelp":
            state = "help"
        elif not re.fullmatch(_KCONFIG_LINES.get(state, ""), line):
            yield f"Kconfig, line {number}: {line!r} is not understood"
    if options == 0:
        yield "Kconfig defines nothing"


def _sample(tree: Tree, root: str) -> Iterator[str]:
    """Every sample below ``root`` is an application of its own."""
    samples = {path.rpartition("/")[0] for path in tree if re.fullmatch(rf"{root}/.+/sample\.yaml", path)}
    if not samples:
        yield f"samples: nothing below {root}"
    for sample in samples:
        for name in ("CMakeLists.txt", "prj.conf", "src/main.c"):
            if f"{sample}/{name}" not in tree:
                yield f"{sample} has no {name}"
        if "find_package(Zephyr" not in text_of(tree, f"{sample}/CMakeLists.txt"):
            yield f"{sample}/CMakeLists.txt does not look for Zephyr"
        for number, line in enumerate(text_of(tree, f"{sample}/prj.conf").splitlines(), 1):
            if line and not line.startswith("#") and not re.fullmatch(r"CONFIG_[A-Z0-9_]+=(y|n|\d+)", line):
                yield f"{sample}/prj.conf, line {number}: {line!r} is not understood"
        try:
            data = read_yaml(text_of(tree, f"{sample}/sample.yaml"))
        except ValueError as error:
            yield f"{sample}/sample.yaml: {error}"
            continue
        yield from SAMPLE(data, "sample.yaml")
