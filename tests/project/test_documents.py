"""What the documents show is true: their figures, their C, their options."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.conftest import TESTS
from tests.shared_data import MLPERF_MODELS, mlperf_model, needs_shared
from tinydeploy.build import compile_graph, write_files
from tinydeploy.demo import model_path
from tinydeploy.frontends import load
from tinydeploy.kernels.targets import target_of
from tinydeploy.toolchain import HOST, WARNINGS, select

README = (TESTS.parent / "README.md").read_text(encoding="utf-8")
COLUMNS = ("tensor_bytes", "arena_bytes", "weights_bytes", "table_bytes", "macs")


@needs_shared
@pytest.mark.parametrize("bench", MLPERF_MODELS)
def test_the_figures_of_the_readme(bench: str) -> None:
    figures = compile_graph(load(mlperf_model(bench)), target_of("cortex-m4")).figures()
    row = " | ".join([bench, *(f"{figures[column]:,}" for column in COLUMNS)])
    assert f"\n| {row} |\n" in README
    assert figures["optimal"] is True


def test_the_c_of_the_readme_compiles(tmp_path: Path) -> None:
    (source,) = re.findall(r"```c\n(.*?)```", README, re.DOTALL)
    write_files(compile_graph(load(model_path()), target_of("cortex-m4")).library.files, tmp_path)
    (tmp_path / "main.c").write_text(source)
    flags = [flag for flag in WARNINGS if flag != "-Wmissing-prototypes"]
    select(None, HOST).compile(
        [tmp_path / "main.c"], include_dirs=[tmp_path], out_dir=tmp_path / "obj", warnings=flags
    )
