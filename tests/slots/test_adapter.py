"""A merged LoRA adapter is sent as an update; the board computes what an image of the merged network does."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.frontends.test_adapters import ALPHA, RANK, save
from tests.onnx_models import OnnxBuilder
from tests.slots.desk import Desk, build_desk, compiled, samples_of
from tinydeploy.boards import load_board
from tinydeploy.build import Compiled
from tinydeploy.device import build_model
from tinydeploy.emulate import available_emulators, start_emulator
from tinydeploy.frontends import ImportOptions, load
from tinydeploy.ir import Array
from tinydeploy.rpc import Client
from tinydeploy.slots import update_model
from tinydeploy.toolchain import cpu_spec, select

Outputs = list[tuple[Array, ...]]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two dense layers, and an adapter of the second."""
    folder = tmp_path_factory.mktemp("adapter")
    builder = OnnxBuilder(seed=1)
    inner = builder.node(
        "Gemm", builder.input("x", (1, 24)), builder.weights(24, 24, name="body.weight"), transB=1
    )
    builder.output(builder.node("Gemm", inner, builder.weights(5, 24, name="head.weight"), transB=1))
    model = folder / "net.onnx"
    model.write_bytes(builder.model().SerializeToString())
    random = np.random.default_rng(2)
    pair = {
        f"base_model.model.head.lora_{side}.weight": random.standard_normal(shape).astype(np.float32)
        for side, shape in (("A", (RANK, 24)), ("B", (5, RANK)))
    }
    return model, save(folder, pair, r=RANK, lora_alpha=ALPHA)


def both(files: tuple[Path, Path], core: str) -> tuple[Compiled, Compiled]:
    model, adapter = files
    return compiled(load(model), core), compiled(load(model, ImportOptions(adapter=adapter)), core)


def outputs_of(client: Client, model: Compiled) -> Outputs:
    return [client.infer(sample).outputs for sample in samples_of(model.graph)]


def assert_same(got: Outputs, wanted: Outputs) -> None:
    for one, other in zip(got, wanted, strict=True):
        for array, expected in zip(one, other, strict=True):
            np.testing.assert_array_equal(array, expected)


def check(client: Client, base: Compiled, merged: Compiled, wanted: Outputs) -> None:
    """``wanted``: what an image of the merged network computes."""
    before = outputs_of(client, base)
    done = update_model(client, merged)
    assert 0 < done.changed_blocks < done.blocks
    assert_same(outputs_of(client, merged), wanted)
    assert np.abs(before[0][0] - wanted[0][0]).max() > 0.1
    update_model(client, base)
    assert_same(outputs_of(client, base), before)


def test_an_adapter_on_the_desk(files: tuple[Path, Path], tmp_path: Path) -> None:
    base, merged = both(files, "host")
    with Desk(build_desk(merged.library, tmp_path / "merged")).connect() as client:
        wanted = outputs_of(client, merged)
    with Desk(build_desk(base.library, tmp_path / "base")).connect() as client:
        check(client, base, merged, wanted)


@pytest.mark.emulated
def test_an_adapter_on_a_board(files: tuple[Path, Path], tmp_path: Path) -> None:
    board = load_board("nucleo-f746")
    if not available_emulators(board):
        pytest.skip("unicorn is not installed")
    base, merged = both(files, "cortex-m7")
    toolchain = select(None, cpu_spec(board.chip.cpu))
    images = [
        build_model(model, board, toolchain, tmp_path / name).firmware.elf
        for name, model in (("merged", merged), ("base", base))
    ]
    with start_emulator(board, images[0]) as emulator, Client.connect(emulator.uart) as client:
        wanted = outputs_of(client, merged)
    with start_emulator(board, images[1]) as emulator, Client.connect(emulator.uart) as client:
        check(client, base, merged, wanted)
