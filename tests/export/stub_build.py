"""Exported trees built for this machine, where their examples run, and compiled for their cores."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest

from tests.codegen.test_interface import hostile_graph, mixed_graph
from tests.shared_data import mlperf_model, needs_shared
from tinydeploy.build import Compiled, compile_graph
from tinydeploy.demo import model_path
from tinydeploy.export import Project, Tree, make_project, write_tree
from tinydeploy.frontends import load
from tinydeploy.ir import Graph
from tinydeploy.kernels.targets import target_of
from tinydeploy.resources import cache_dir
from tinydeploy.toolchain import WARNINGS, available, cpu_spec, select
from tinydeploy.toolchain.zig import ZIG_FLAGS, find_zig

STUBS = Path(__file__).with_name("stubs")

needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")

_GRAPHS: Mapping[str, Callable[[], Graph]] = {
    "digits": lambda: load(model_path()),
    "mixed": mixed_graph,
    "hostile": hostile_graph,
    "kws": lambda: load(mlperf_model("kws")),
}

MODELS = [
    "digits",
    "mixed",
    "hostile",
    pytest.param("kws", marks=needs_shared),
]
"""A bundled model, one with several inputs and outputs, one whose every name is hostile, a benchmark's."""


@cache
def compiled(model: str, core: str = "cortex-m4") -> Compiled:
    return compile_graph(_GRAPHS[model](), target_of(core))


@cache
def project(model: str, core: str = "cortex-m4") -> Project:
    return make_project(compiled(model, core), None)


def sources_below(folder: Path, *suffixes: str) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in (suffixes or (".c",)))


def compile_for(core: str, sources: Sequence[Path], include_dirs: Sequence[Path], out_dir: Path) -> None:
    """With the project's warnings, by GNU's compiler for the core."""
    cpu = cpu_spec(core)
    if "gcc" not in available(cpu):
        pytest.skip(f"no gcc for {core} is installed")
    select("gcc", cpu).compile(sources, include_dirs=include_dirs, out_dir=out_dir, optimize="-O1")


def build_with_cmake(
    source: Path, build: Path, *options: str, toolchain: str = "gcc", idf: Path | None = None
) -> None:
    """Configure and build with the project's warnings as errors."""
    cmake = str(Path(sys.executable).with_name("cmake"))
    flags = ["-std=c11", *WARNINGS]
    environment = {**os.environ, "CC": "gcc", **({} if idf is None else {"IDF_PATH": str(idf)})}
    if toolchain == "zig":
        cache = str(cache_dir() / "zig")
        environment |= {"CC": f"{find_zig()} cc", "ZIG_GLOBAL_CACHE_DIR": cache, "ZIG_LOCAL_CACHE_DIR": cache}
        flags += ZIG_FLAGS
    configure = [cmake, "-G", "Unix Makefiles", f"-DCMAKE_C_FLAGS={' '.join(flags)}"]
    configure += ["-S", str(source), "-B", str(build), *options]
    for command in (configure, [cmake, "--build", str(build), "--parallel", "2"]):
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=300, check=False
        )
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
        assert "CMake Warning" not in done.stderr, done.stderr


def run_example(program: Path, name: str, outputs: int) -> str:
    """What an example prints; it must pass, and show each output."""
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60, check=False)
    lines = done.stdout.splitlines()
    assert lines[-1] == f"{name}: PASS", done.stdout
    assert len(lines) == outputs + 1
    assert done.returncode == 0
    return done.stdout


def written(tree: Tree, folder: Path) -> Path:
    write_tree(tree, folder)
    return folder


def outputs_of(model: str) -> int:
    return len(compiled(model).graph.outputs)


def damaged(tree: Tree, path: str, old: str, new: str) -> Tree:
    """A tree with one text changed."""
    content = tree[path]
    assert isinstance(content, str)
    assert old in content, f"{path} has no {old!r}"
    return {**tree, path: content.replace(old, new, 1)}
