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
from tinydeploy.toolchain import HOST, select

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


@pytest.mark.parametrize("case", ["g02_fc_nobias", "g05_fc_perchannel", "g07_depthwise_edge"])
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
