"""LoRA adapters as PEFT saves them are merged into weights of an ONNX model; what does not fit is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import numpy_helper

from tests.onnx_models import OnnxBuilder
from tests.tflite_builder import ModelBuilder
from tinydeploy import load
from tinydeploy.errors import TinyDeployError
from tinydeploy.frontends.adapters import merge_adapter
from tinydeploy.frontends.safetensors import read_safetensors

Float32 = npt.NDArray[np.float32]
RANK, ALPHA = 2, 8
SIZES = {"conv": (4, 3), "layers.0.q_proj": (8, 8), "head": (5, 8), "out": (2, 5)}
"""Outputs and inputs of each module."""


def network() -> onnx.ModelProto:
    """A convolution, a MatMul whose weight lost its name, a Gemm with and one without transposed weights."""
    builder = OnnxBuilder(seed=1)
    image = builder.node(
        "Conv", builder.input("x", (1, 3, 4, 4)), builder.weights(4, 3, 3, 3, name="conv.weight")
    )
    flat = builder.node("Reshape", image, builder.constant(np.array([2, 8], np.int64)))
    inner = builder.node(
        "MatMul", flat, builder.weights(8, 8, name="onnx::MatMul_7"), name="/layers.0/q_proj/MatMul"
    )
    head = builder.node("Gemm", inner, builder.weights(5, 8, name="head.weight"), transB=1)
    builder.output(builder.node("Gemm", head, builder.weights(5, 2, name="out.weight"), alpha=0.5))
    return builder.model()


def tensors(prefix: str = "base_model.model.") -> dict[str, Float32]:
    generator = np.random.default_rng(2)
    made: dict[str, Float32] = {}
    for module, (outputs, inputs) in SIZES.items():
        a, b = (RANK, inputs), (outputs, RANK)
        shapes = {"A": (*a, 3, 3), "B": (*b, 1, 1)} if module == "conv" else {"A": a, "B": b}
        for side, shape in shapes.items():
            array = generator.standard_normal(shape).astype(np.float32)
            made[f"{prefix}{module}.lora_{side}.weight"] = array
    return made


def save(folder: Path, arrays: dict[str, Float32], kind: str = "F32", **config: object) -> Path:
    """``adapter_model.safetensors`` and its configuration."""
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    data = b""
    for name, array in arrays.items():
        part = array.tobytes() if kind == "F32" else (array.view(np.uint32) >> 16).astype("<u2").tobytes()
        header[name] = {
            "dtype": kind,
            "shape": list(array.shape),
            "data_offsets": [len(data), len(data) + len(part)],
        }
        data += part
    text = json.dumps(header).encode()
    path = folder / "adapter_model.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    if config:
        (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", **config}))
    return path


def weights(model: onnx.ModelProto) -> dict[str, npt.NDArray[Any]]:
    return {item.name: numpy_helper.to_array(item) for item in model.graph.initializer}


@pytest.mark.parametrize("prefix", ["base_model.model.", ""])
def test_every_kind_of_weight_grows(prefix: str, tmp_path: Path) -> None:
    model, arrays = network(), tensors(prefix)
    before = weights(model)
    merge_adapter(model, save(tmp_path, arrays, r=RANK, lora_alpha=ALPHA), None)
    after = weights(model)
    product = {
        module: np.einsum(
            "or,r...->o...",
            arrays[f"{prefix}{module}.lora_B.weight"].reshape(outputs, RANK),
            arrays[f"{prefix}{module}.lora_A.weight"],
        )
        * (ALPHA / RANK)
        for module, (outputs, _) in SIZES.items()
    }
    expected = {
        "conv.weight": product["conv"],
        "onnx::MatMul_7": product["layers.0.q_proj"].T,
        "head.weight": product["head"],
        "out.weight": product["out"].T / 0.5,
    }
    for name, grown in expected.items():
        np.testing.assert_allclose(after[name], before[name] + grown, rtol=1e-5, atol=1e-5)


def test_modules_that_the_exporter_noted(tmp_path: Path) -> None:
    """The newer exporter notes at each node the modules that it comes from."""
    model = network()
    (node,) = (node for node in model.graph.node if node.op_type == "MatMul")
    node.name = "n2"
    entry = node.metadata_props.add()
    entry.key, entry.value = "pkg.torch.onnx.name_scopes", "['', 'layers', 'layers.0.q_proj', 'linear']"
    merge_adapter(model, save(tmp_path, tensors(), lora_alpha=ALPHA), None)
    assert not np.array_equal(weights(model)["onnx::MatMul_7"], weights(network())["onnx::MatMul_7"])


def test_halves_and_rank_stabilised(tmp_path: Path) -> None:
    """bfloat16 numbers; alpha over the root of the rank, and another alpha for one module."""
    model = network()
    half = {name: (array.view(np.uint32) & 0xFFFF0000).view(np.float32) for name, array in tensors().items()}
    path = save(tmp_path, half, "BF16", lora_alpha=4, use_rslora=True, alpha_pattern={"head": 6})
    found, metadata = read_safetensors(path)
    assert all(np.array_equal(found[name], array) for name, array in half.items())
    assert metadata == {"format": "pt"}
    merge_adapter(model, path, None)
    product = half["base_model.model.head.lora_B.weight"] @ half["base_model.model.head.lora_A.weight"]
    expected = weights(network())["head.weight"] + product * 6 / np.sqrt(RANK)
    np.testing.assert_allclose(weights(model)["head.weight"], expected, rtol=1e-5, atol=1e-5)


def test_keys_without_a_weight_are_all_named(tmp_path: Path) -> None:
    arrays = tensors()
    arrays["base_model.model.tail.lora_A.weight"] = np.zeros((2, 8), np.float32)
    arrays["base_model.model.tail.lora_B.weight"] = np.zeros((8, 2), np.float32)
    arrays["base_model.model.head.lora_magnitude_vector"] = np.zeros(5, np.float32)
    del arrays["base_model.model.out.lora_B.weight"]
    with pytest.raises(TinyDeployError) as error:
        merge_adapter(network(), save(tmp_path, arrays, lora_alpha=ALPHA), None)
    assert error.value.what == (
        "4 keys match no weight of the model: base_model.model.head.lora_magnitude_vector, "
        "base_model.model.out.lora_A.weight, base_model.model.tail.lora_A.weight, "
        "base_model.model.tail.lora_B.weight"
    )


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "alpha of conv is None; a number is needed. Put the adapter's adapter_config.json beside it"),
        ({"lora_alpha": 1, "use_dora": True}, "the adapter is of the type DORA; LORA is allowed"),
        ({"lora_alpha": 1, "peft_type": "LOHA"}, "the adapter is of the type LOHA; LORA is allowed"),
    ],
)
def test_configurations_that_do_not_say_enough(config: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(TinyDeployError) as error:
        merge_adapter(network(), save(tmp_path, tensors(), **config), None)
    assert message in str(error.value)


def test_shapes_that_do_not_fit(tmp_path: Path) -> None:
    arrays = {
        "head.lora_A.weight": np.zeros((2, 7), np.float32),
        "head.lora_B.weight": np.zeros((5, 2), np.float32),
    }
    with pytest.raises(TinyDeployError) as error:
        merge_adapter(network(), save(tmp_path, arrays, lora_alpha=1), None)
    assert "head has A [2, 7] and B [5, 2], which do not fit the weight 'head.weight': float32[5, 8]" in str(
        error.value
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "its header is longer than the file"),
        (b"\xff" * 20, "its header is longer than the file"),
        (b"\x02" + bytes(7) + b"[]", "its header is no object"),
        (b'{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}', "offsets do not fit the shape"),
        (b'{"a":{"dtype":"I8","shape":[0],"data_offsets":[0,0]}}', "elements of type I8"),
        (b'{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,0]}}', "shape or offsets are no sizes"),
    ],
)
def test_files_that_are_no_adapters(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.safetensors"
    path.write_bytes(content if content[:1] != b"{" else len(content).to_bytes(8, "little") + content)
    with pytest.raises(TinyDeployError) as error:
        read_safetensors(path)
    assert f"is no file of float tensors in the format safetensors: {message}" in str(error.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TinyDeployError, match="cannot be read: No such file or directory"):
        read_safetensors(tmp_path / "gone")


def test_load_merges(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(network().SerializeToString())
    adapter = save(tmp_path, tensors(), lora_alpha=ALPHA)
    plain, adapted = load(tmp_path / "model.onnx"), load(tmp_path / "model.onnx", adapter=adapter)
    assert [node.op for node in plain.nodes] == [node.op for node in adapted.nodes]
    assert plain != adapted


def test_other_formats_take_no_adapter(tmp_path: Path) -> None:
    (tmp_path / "m.tflite").write_bytes(ModelBuilder().input((1, 4)).fully_connected(2).build())
    with pytest.raises(TinyDeployError, match=r"TensorFlow Lite \(\.tflite\) have no adapter to set"):
        load(tmp_path / "m.tflite", adapter=tmp_path / "a.safetensors")
