"""Small inputs that break other tools (data/cases): 0 bytes off, and the arena's contract."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.running import assert_bit_exact
from tests.shared_data import SHARED, needs_shared
from tinydeploy.build import Compiled, compile_graph, write_files
from tinydeploy.emulate.host import build_host
from tinydeploy.frontends import load
from tinydeploy.kernels.targets import target_of
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.toolchain import C11, C_ONLY_WARNINGS, CPP11, HOST, WARNINGS, select

pytestmark = needs_shared

CASES = SHARED / "cases"
ARENA_TEST = Path(__file__).parent / "arena_contract.c"


def compiled_case(case: str) -> Compiled:
    return compile_graph(load(CASES / case / "model.tflite"), target_of("host"), name="model")


def samples_of(case: str, shape: tuple[int, ...]) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Inputs and right answers; the arrays hold one sample or several."""
    with np.load(CASES / case / "input.npz") as given, np.load(CASES / case / "expected.npz") as wanted:
        inputs = given["in0"].reshape(-1, *shape)
        outputs = wanted["out0"].reshape(len(inputs), -1)
    return list(inputs), list(outputs)


@pytest.mark.parametrize(
    "case", ["g02_fc_nobias", "g05_fc_perchannel", "g06_conv16x8_int64", "g07_depthwise_edge"]
)
def test_a_case_has_no_byte_off(case: str, tmp_path: Path) -> None:
    compiled = compiled_case(case)
    graph = compiled.graph
    inputs, expected = samples_of(case, graph.type(graph.inputs[0]).shape)
    interpreter = Interpreter(graph)
    program = build_host(compiled, tmp_path, select("gcc", HOST, sanitize=True), optimize="-O1")
    answers = program.run([(sample,) for sample in inputs])
    for sample, wanted, answer in zip(inputs, expected, answers, strict=True):
        assert interpreter.run([sample])[0].reshape(-1).tolist() == wanted.tolist()
        assert answer.outputs[0].reshape(-1).tolist() == wanted.tolist()


def test_a_case_on_many_inputs(tmp_path: Path) -> None:
    assert_bit_exact(compiled_case("g07_depthwise_edge"), tmp_path, samples=16)


def test_g13_the_arena_is_checked_and_nothing_outside_it_is_touched(tmp_path: Path) -> None:
    """Misaligned, one byte short and NULL give their codes; the exact size runs, three times the same."""
    compiled = compiled_case("g07_depthwise_edge")
    write_files(compiled.library.files, tmp_path)
    graph = compiled.graph
    (sample,), (expected,) = samples_of("g07_depthwise_edge", graph.type(graph.inputs[0]).shape)
    vectors = tmp_path / "vectors.h"
    vectors.write_text(
        "".join(
            f"static const int8_t {name}[] = {{{', '.join(map(str, array.reshape(-1).tolist()))}}};\n"
            for name, array in (("sample", sample), ("expected", expected))
        )
    )
    compiler = select("gcc", HOST, sanitize=True)
    sources = [*(tmp_path / name for name in compiled.library.sources), ARENA_TEST]
    objects = compiler.compile(
        sources, include_dirs=[tmp_path], defines={}, out_dir=tmp_path / "obj", optimize="-O1"
    )
    executable = tmp_path / "arena"
    compiler.link_host(objects, executable)
    done = subprocess.run([str(executable)], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ok\n", "")


@pytest.mark.parametrize("language", [C11, CPP11], ids=["c", "c++"])
def test_models_of_one_program_share_an_arena(language: tuple[str, ...], tmp_path: Path) -> None:
    """g11: two models, and one of them again under another prefix, run in turn as if alone."""
    cases = {"dense": "g05_fc_perchannel", "image": "g07_depthwise_edge", "again": "g05_fc_perchannel"}
    arena_bytes = 0
    sources: list[Path] = []
    lines = ["#include <stdio.h>", "#include <string.h>", *(f'#include "{name}.h"' for name in cases)]
    runs: dict[str, tuple[np.ndarray, np.ndarray]] = {}
    for name, case in cases.items():
        compiled = compile_graph(load(CASES / case / "model.tflite"), target_of("host"), name=name)
        write_files(compiled.library.files, tmp_path)
        sources += [tmp_path / source for source in compiled.library.sources]
        arena_bytes = max(arena_bytes, compiled.plan.arena_bytes)
        inputs, expected = samples_of(case, compiled.graph.type(compiled.graph.inputs[0]).shape)
        runs[name] = inputs[0], expected[0]
        values = ", ".join(str(int(value)) for value in inputs[0].reshape(-1))
        lines.append(f"static const int8_t {name}_input[] = {{{values}}};")
    lines += [f"static uint32_t arena[{arena_bytes // 4}];", "int main(void)", "{"]
    for name in cases:
        lines += [
            f"    {name}_t {name};",
            f"    if ({name}_init(&{name}, arena, sizeof arena) != TD_OK) return 1;",
        ]
    order = ["dense", "image", "dense", "again", "image", "dense"]
    for name in order:
        lines += [
            f"    memcpy({name}_in0(&{name}), {name}_input, sizeof {name}_input);",
            f"    if ({name}_run(&{name}) != TD_OK) return 2;",
            f"    for (uint32_t k = 0; k < {name.upper()}_OUT0_BYTES; ++k)",
            f'        printf("%d ", (int){name}_out0(&{name})[k]);',
            '    printf("\\n");',
        ]
    (tmp_path / "main.c").write_text("\n".join([*lines, "    return 0;", "}", ""]))
    compiler = select("gcc", HOST, sanitize=True)
    objects = compiler.compile(
        [*sources, tmp_path / "main.c"],
        include_dirs=[tmp_path],
        out_dir=tmp_path / "o",
        language=language,
        warnings=[flag for flag in WARNINGS if flag not in C_ONLY_WARNINGS],
        optimize="-O1",
    )
    program = compiler.link_host(objects, tmp_path / "main")
    done = subprocess.run([str(program)], capture_output=True, text=True, timeout=60, check=True)
    answers = [[int(value) for value in line.split()] for line in done.stdout.splitlines()]
    assert answers == [runs[name][1].tolist() for name in order]
