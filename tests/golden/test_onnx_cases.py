"""The float ONNX inputs of data/cases that break other tools: odd names, outputs that are other values."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.shared_data import SHARED, needs_shared
from tinydeploy.build import compile_graph
from tinydeploy.emulate.host import build_host
from tinydeploy.frontends import load
from tinydeploy.kernels.targets import target_of
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.toolchain import HOST, select

pytestmark = needs_shared

CASES = SHARED / "cases"


@pytest.mark.parametrize("case", ["g01_names", "g10_lifetimes"])
def test_the_outputs_are_those_of_onnx_runtime(case: str, tmp_path: Path) -> None:
    graph = load(CASES / case / "model.onnx")
    with np.load(CASES / case / "input.npz") as given, np.load(CASES / case / "expected.npz") as wanted:
        inputs = tuple(given[key] for key in given.files)
        expected = [wanted[key] for key in wanted.files]
    compiled = compile_graph(graph, target_of("host"), name="model")
    program = build_host(compiled, tmp_path, select("gcc", HOST, sanitize=True), optimize="-O1")
    first, second = program.run([inputs, inputs])
    for outputs in (Interpreter(graph).run(inputs), first.outputs, second.outputs):
        assert len(outputs) == len(expected)
        for got, right in zip(outputs, expected, strict=True):
            np.testing.assert_allclose(got, right, rtol=1e-5, atol=1e-5)
