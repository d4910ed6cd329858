"""A transformer, a GRU and an LSTM on emulated boards: float within the tolerance, int8 bit for bit."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.onnx_models import sequence_networks
from tests.quantize.sequences import quantized
from tests.running_onnx import graph_of
from tinydeploy.boards import load_board
from tinydeploy.build import compile_graph
from tinydeploy.device import build_model, emulated, verify_device
from tinydeploy.ir import Graph
from tinydeploy.kernels.targets import target_of
from tinydeploy.toolchain import cpu_spec, select
from tinydeploy.verify import make_samples

pytestmark = pytest.mark.emulated


@pytest.fixture(scope="module")
def graphs() -> dict[str, Graph]:
    """The networks side by side in one graph: one build for all of them."""
    model = sequence_networks()
    return {"float": graph_of(model), "int8": quantized(model, 8).integer}


@pytest.mark.parametrize("kind", ["float", "int8"])
@pytest.mark.parametrize("board", ["qemu-m4", "qemu-m55"])
def test_they_run_on_boards(board: str, kind: str, graphs: dict[str, Graph], tmp_path: Path) -> None:
    found = load_board(board)
    compiled = compile_graph(graphs[kind], target_of(found.chip.cpu))
    built = build_model(compiled, found, select("gcc", cpu_spec(found.chip.cpu)), tmp_path, trace=True)
    with emulated(found, built.firmware.elf) as client:
        compared = verify_device(client, compiled, make_samples(compiled.graph, 3))
    assert compared.passed, compared.first_bad_step
    assert compared.bit_exact is (True if kind == "int8" else None)
