"""Generated C whose constants can be exchanged: the same bits, one layout for all trainings of a network."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.codegen.test_interface import compile_everywhere
from tests.onnx_models import OnnxBuilder
from tests.quantize.networks import convolutional, graph_of, images
from tests.running import assert_bit_exact
from tests.slots.desk import Desk, Expected, build_desk, compiled, quantized, small
from tests.tflite_builder import ModelBuilder
from tinydeploy import demo
from tinydeploy.build import Compiled, compile_graph
from tinydeploy.codegen import Slots
from tinydeploy.errors import TinyDeployError
from tinydeploy.frontends import ImportOptions, load
from tinydeploy.frontends.onnx import load_bytes
from tinydeploy.ir import DType, Graph
from tinydeploy.kernels.targets import target_of
from tinydeploy.quantize import Options, quantize
from tinydeploy.slots import update_model
from tinydeploy.toolchain import HOST, available


def slots_of(model: Compiled) -> Slots:
    assert model.library.block is not None
    return model.library.block


def real_interface(seed: int) -> Graph:
    """A quantized network that takes and gives floats: its scales stand in Quantize and Dequantize."""
    options = Options(input_type=DType.FLOAT32, output_type=DType.FLOAT32)
    return quantize(graph_of(convolutional(seed=seed)), images(24, seed=seed), options).integer


def remembering(seed: int, folder: Path) -> Graph:
    """A dense layer over an input and what it gave before."""
    builder = OnnxBuilder(seed=seed)
    joined = builder.node("Concat", builder.input("x", (1, 3)), builder.input("h", (1, 4)), axis=1)
    after = builder.node("Tanh", builder.node("Gemm", joined, builder.weights(4, 7), transB=1))
    builder.output(builder.node("Gemm", after, builder.weights(2, 4), transB=1))
    builder.output(after)
    path = folder / f"remembering_{seed}.onnx"
    path.write_bytes(builder.model().SerializeToString())
    return load(path, ImportOptions(states=(("h", after),)))


def test_the_demo_has_the_same_bits(tmp_path: Path) -> None:
    graph = load(demo.model_path())
    assert_bit_exact(compile_graph(graph, target_of("cortex-m4"), slots=True), tmp_path)


def test_other_networks_have_the_same_bits(tmp_path: Path) -> None:
    graphs = {
        "quantized": quantized(0, weight_bits=4),
        "real": real_interface(0),
        "states": remembering(0, tmp_path),
    }
    for name, graph in graphs.items():
        assert_bit_exact(compiled(graph), tmp_path / name)


def test_clang_takes_it(tmp_path: Path) -> None:
    if "zig" not in available(HOST):
        pytest.skip("zig is not installed")
    assert_bit_exact(compiled(small(tmp_path, 0)), tmp_path, toolchain="zig", sanitize=False)


@pytest.mark.slow
@pytest.mark.parametrize("toolchain", ["gcc", "zig"])
def test_it_compiles_in_every_language(toolchain: str, tmp_path: Path) -> None:
    if toolchain not in available(HOST):
        pytest.skip(f"{toolchain} is not installed")
    graph = real_interface(1) if toolchain == "gcc" else remembering(1, tmp_path)
    compile_everywhere(compiled(graph), tmp_path / "net", toolchain)


def test_trainings_share_a_layout(tmp_path: Path) -> None:
    for make in (
        quantized,
        lambda seed: quantized(seed, weight_bits=4),
        real_interface,
        lambda seed: remembering(seed, tmp_path),
        lambda seed: load(small(tmp_path, seed)),
    ):
        first, second = (slots_of(compiled(make(seed))) for seed in (0, 1))
        assert first.layout.hash == second.layout.hash
        assert len(first.payload) == len(second.payload)
        assert first.payload != second.payload


def test_names_are_no_part_of_a_layout(tmp_path: Path) -> None:
    graph = load(small(tmp_path, 0))
    one, other = (
        slots_of(compile_graph(graph, target_of("host"), name=name, slots=True))
        for name in ("a", "other_name")
    )
    assert one == other


def test_equal_contents_are_kept_apart(tmp_path: Path) -> None:
    """Two layers whose weights are equal in this training, not in the next."""

    def twins(weights: int) -> Compiled:
        builder = ModelBuilder(seed=1).input((1, 4, 4, 2))
        for value in (1, weights):
            builder.conv2d(2, (1, 1), weights=np.full((2, 1, 1, 2), value, np.int8), bias=False)
        path = tmp_path / f"twins_{weights}.tflite"
        path.write_bytes(builder.build())
        return compiled(path)

    assert slots_of(twins(1)).layout.hash == slots_of(twins(2)).layout.hash


def test_the_struct_is_the_payload(tmp_path: Path) -> None:
    """What the linker puts into the image are the bytes that an update sends."""
    model = compiled(quantized(0))
    assert slots_of(model).payload in build_desk(model.library, tmp_path).read_bytes()


def test_states_start_anew_after_an_update(tmp_path: Path) -> None:
    first, second = (Expected(compiled(remembering(seed, tmp_path))) for seed in (0, 1))
    desk = Desk(build_desk(first.model.library, tmp_path / "desk"))
    with desk.connect() as client:
        fresh = client.infer(first.samples[0]).outputs[0]
        client.infer(first.samples[1])
        update_model(client, second.model)
        update_model(client, first.model)
        np.testing.assert_array_equal(client.infer(first.samples[0]).outputs[0], fresh)


def test_a_model_without_constants_has_nothing_to_exchange() -> None:
    builder = OnnxBuilder(seed=0)
    builder.output(builder.node("Relu", builder.input("x", (1, 3))))
    graph = load_bytes(builder.model().SerializeToString(), "bare")
    with pytest.raises(
        TinyDeployError, match="the model has no constants, so there is nothing to exchange"
    ) as e:
        compiled(graph)
    assert e.value.fix == "Leave out --slots"


def test_without_slots_nothing_of_them_is_generated() -> None:
    library = compile_graph(load(demo.model_path()), target_of("cortex-m4")).library
    text = "".join({**library.files, **library.descriptor}.values()).replace(
        library.files["tinydeploy.h"], ""
    )
    assert "constants_t" not in text
    assert "td_slot" not in text
    assert library.block is None
