"""``tinydeploy profile``: totals, layers and the cycle sum belong together."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tinydeploy import demo
from tinydeploy.boards import load_board
from tinydeploy.build import compile_graph
from tinydeploy.device import Source, build_model, connect, measure, sum_cycles
from tinydeploy.device.measure import measuring_samples, per_mac, shares
from tinydeploy.errors import ToolError
from tinydeploy.frontends import load
from tinydeploy.kernels.targets import target_of
from tinydeploy.toolchain import cpu_spec, select

pytestmark = pytest.mark.emulated

STEP_OVERHEAD = 100  # instructions by which a step called alone may cost more than within a run
CALL_OVERHEAD = 40  # of the firmware's call of NAME_run, which the cycle sum leaves out


@pytest.mark.parametrize("board", ["qemu-m4", "nucleo-f746"])
def test_layers(board: str, cli: Cli) -> None:
    found = cli("profile", demo.model_path(), "--board", board, "--emulate", "--json").json
    layers = found["layers"]
    assert [layer["op"] for layer in layers].count("FullyConnected") == 1
    assert all(layer["name"] and layer["schedule"] and layer["instructions"] > 0 for layer in layers)
    assert sum(layer["macs"] for layer in layers) == found["macs"]
    assert sum(layer["share"] for layer in layers) == pytest.approx(1, abs=1e-2)
    total = sum(layer["instructions"] for layer in layers)
    assert 0 <= total - found["instructions"] + CALL_OVERHEAD <= STEP_OVERHEAD * len(layers)
    assert found["instructions_per_mac"] == pytest.approx(found["instructions"] / found["macs"], abs=1e-4)


def test_the_cycle_sum_of_an_m4(cli: Cli) -> None:
    found = cli("profile", demo.model_path(), "--board", "qemu-m4", "--emulate", "--json").json
    assert found["cycle_sum"] == found["cycles"]
    assert found["cycles_are"] == "estimated, uncalibrated for these kernels"
    assert found["instructions"] < found["cycle_sum"] < 2 * found["instructions"]
    layers = found["layers"]
    assert sum(layer["cycle_sum"] for layer in layers) == pytest.approx(found["cycle_sum"], rel=0.02)


def test_no_cycle_sum_for_other_cores(cli: Cli) -> None:
    """The table of costs is the Cortex-M4's."""
    found = cli("profile", demo.model_path(), "--board", "nucleo-f746", "--emulate", "--json").json
    assert "cycle_sum" not in found
    assert found["cycles"] is None


def test_the_table_for_people(cli: Cli) -> None:
    shown = cli("profile", demo.model_path(), "--board", "qemu-m4", "--emulate").stdout
    for text in ("instructions", "per MAC", "cycle sum", "share", "Conv2D", "%", "█"):
        assert text in shown


@pytest.mark.parametrize("compiler", ["gcc", "zig"])
def test_the_trace_executes_what_the_counter_counts(compiler: str, tmp_path: Path) -> None:
    """Blocks reported by one emulator, instructions counted by the firmware in another: the same run."""
    board = load_board("qemu-m4")
    compiled = compile_graph(load(demo.model_path()), target_of(board.chip.cpu))
    built = build_model(compiled, board, select(compiler, cpu_spec(board.chip.cpu)), tmp_path)
    with connect(Source(board, emulate=True), built.firmware.elf) as client:
        counted = measure(client, compiled)
    warm_up, sample = measuring_samples(compiled)
    cost = sum_cycles(board, built.firmware.elf, compiled.library.prefix, [warm_up], sample)
    assert 0 <= counted.count - cost.run.instructions <= CALL_OVERHEAD
    for layer, step in zip(counted.layers, cost.steps, strict=True):
        assert 0 <= layer.count - step.instructions <= CALL_OVERHEAD


def test_an_image_of_another_model(tmp_path: Path) -> None:
    board = load_board("qemu-m4")
    compiled = compile_graph(load(demo.model_path()), target_of(board.chip.cpu))
    built = build_model(compiled, board, select(None, cpu_spec(board.chip.cpu)), tmp_path)
    warm_up, sample = measuring_samples(compiled)
    with pytest.raises(ToolError, match="the image has no function other_run"):
        sum_cycles(board, built.firmware.elf, "other", [warm_up], sample)


def test_shares_and_costs_per_mac() -> None:
    assert shares([1, 3]) == [0.25, 0.75]
    assert shares([0]) == [0.0]
    assert per_mac(3, 2) == 1.5
    assert per_mac(3, 0) is None
