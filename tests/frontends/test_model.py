"""Numbers of a file that contradict each other: every message names the place and the figure."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.tflite_builder import ModelBuilder, pack
from tinydeploy.errors import ModelError
from tinydeploy.frontends.tflite import load_bytes
from tinydeploy.frontends.tflite.model import read, short
from tinydeploy.ir import DType, Quant


def conv() -> ModelBuilder:
    """Tensors: 0 data, 1 weights, 2 bias, 3 result."""
    return ModelBuilder().input((1, 4, 4, 2), name="data").conv2d(3, name="result")


def refused(builder: ModelBuilder, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        load_bytes(builder.build(), "m")
    assert words in str(caught.value)
    assert str(caught.value).startswith("m: ")


def with_tensor(index: int, **fields: object) -> Callable[[ModelBuilder], None]:
    def change(builder: ModelBuilder) -> None:
        for name, value in fields.items():
            setattr(builder.tensors[index], name, value)

    return change


def with_quant(index: int, **fields: object) -> Callable[[ModelBuilder], None]:
    def change(builder: ModelBuilder) -> None:
        for name, value in fields.items():
            setattr(builder.tensors[index].quantization, name, value)

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            with_tensor(0, type=77),
            "m: tensor 0 'data': element type 77 is not a type of TFLite. Export or download the model again",
        ),
        (with_tensor(0, shape=[1, 1 << 20, 1 << 20, 2]), "needs 2199023255552 bytes; 2**31 are allowed"),
        (with_tensor(0, shape=[1] * 9), "tensor 0 'data': 9 dimensions; 8 are allowed"),
        (with_tensor(0, shape=[1, -4, 4, 2]), "has a negative extent"),
        (with_tensor(0, shapeSignature=[-1, 4]), "4 dimensions but a signature of 2"),
        (with_tensor(0, buffer=99), "buffer 99 does not exist; there are 3 buffers"),
        (with_tensor(1, shape=[3, 3, 3, 3]), "its buffer holds 54 bytes, int8[3, 3, 3, 3] needs 81"),
        (with_quant(0, zeroPoint=[0, 0]), "tensor 0 'data': 1 scales but 2 zero points"),
        (with_quant(1, quantizedDimension=4), "quantized dimension 4 of a shape [3, 3, 3, 2]"),
        (with_quant(1, quantizedDimension=-1), "quantized dimension -1 of a shape [3, 3, 3, 2]"),
        (with_quant(1, quantizedDimension=3), "3 scales, dimension 3 has 2"),
        (with_quant(0, scale=[0.0]), "scale 0.0 is not a positive number"),
        (with_quant(0, scale=[-0.5]), "scale -0.5 is not a positive number"),
        (with_quant(0, scale=[float("nan")]), "scale nan is not a positive number"),
        (with_quant(0, scale=[float("inf")]), "scale inf is not a positive number"),
        (with_quant(0, zeroPoint=[128]), "zero point 128 is outside -128 to 127"),
        (with_quant(0, zeroPoint=[-(1 << 63)]), "zero point -9223372036854775808 is outside"),
    ],
)
def test_tensors(change: Callable[[ModelBuilder], None], words: str) -> None:
    builder = conv()
    change(builder)
    refused(builder, words)


def test_version() -> None:
    builder = conv()
    builder.model.version = 2
    refused(builder, "version 2 of the schema; only 3 is known")


def test_no_subgraph() -> None:
    data = ModelBuilder()
    data.model.operatorCodes = None
    data.build()
    data.model.subgraphs = []
    with pytest.raises(ModelError, match="m: it holds no subgraph"):
        load_bytes(pack(data.model), "m")


def test_operators_name_what_exists() -> None:
    builder = conv()
    builder.operators[0].inputs = [0, 1, 17]
    refused(builder, "operator 0 (CONV_2D): tensor 17 does not exist; there are 4 tensors")
    builder = conv()
    builder.operators[0].outputs = [-1]
    refused(builder, "operator 0 (CONV_2D): tensor -1 does not exist")
    builder = conv()
    builder.operators[0].opcodeIndex = 5
    refused(builder, "operator 0: operator code 5 does not exist; there are 1 codes")
    builder = conv()
    builder.outputs = [4]
    refused(builder, "the model's outputs: tensor 4 does not exist")
    builder = conv()
    builder.inputs = [-1]
    refused(builder, "the model's inputs: tensor -1 does not exist")


def test_buffers_behind_the_flatbuffer_are_read_and_checked() -> None:
    builder = conv()
    weights = bytes(builder.model.buffers[1].data)
    builder.model.buffers[1] = type(builder.model.buffers[0])(offset=1 << 20, size=len(weights))
    refused(builder, "tensor 1 'tensor_1': buffer 1 at 1048576 with 54 bytes is outside the file of")
    size = len(builder.build())
    builder.model.buffers[1].offset = size + 16
    data = builder.build() + b"\0" * 16 + weights
    assert len(data) == size + 16 + len(weights)
    assert load_bytes(data, "m") == load_bytes(conv().build(), "m")
    builder.model.buffers[1].size = 1 << 63
    refused(builder, "is outside the file")


def test_quantization_keeps_the_exact_numbers_of_the_file() -> None:
    builder = ModelBuilder().input((1, 4), scale=0.1, zero_point=-3)
    builder.fully_connected(1, per_channel=True)
    tensors = read(builder.build(), "m").subgraphs[0].tensors
    assert tensors[0].quant == Quant((float(np.float32(0.1)),), (-3,))
    # One scale is a scale per tensor, however the file means it.
    weights = tensors[1].quant
    assert weights is not None
    assert weights.axis is None


def test_absent_and_empty_quantization() -> None:
    builder = conv()
    builder.tensors[0].quantization = None
    builder.tensors[3].quantization.scale = []
    builder.tensors[1].quantization.zeroPoint = None
    tensors = read(builder.build(), "m").subgraphs[0].tensors
    assert tensors[0].quant is None
    assert tensors[3].quant is None
    weights = tensors[1].quant
    assert weights is not None
    assert weights.zero_points == (0, 0, 0)


def test_a_bias_quantized_along_the_dimension_of_its_weights() -> None:
    builder = conv()
    builder.tensors[2].quantization.quantizedDimension = 3
    bias = read(builder.build(), "m").subgraphs[0].tensors[2].quant
    assert bias is not None
    assert bias.axis == 0


def test_four_bit_constants_are_unpacked() -> None:
    builder = conv()
    builder.tensors[1].type = 17  # INT4
    builder.model.buffers[1].data = np.array([0x21, 0xF8, *[0] * 25], np.uint8)
    tensor = read(builder.build(), "m").subgraphs[0].tensors[1]
    assert tensor.dtype is DType.INT4
    assert tensor.array().reshape(-1)[:4].tolist() == [1, 2, -8, -1]


def test_names_need_not_be_utf8() -> None:
    builder = ModelBuilder().input((1, 4), name=b"\xff\xfe ok").softmax(name="")
    graph = load_bytes(builder.build(), "m")
    assert graph.values[0].name == "\ufffd\ufffd ok"
    assert graph.nodes[0].name == "SOFTMAX#0"


def test_long_names_are_cut_in_messages() -> None:
    assert short("é\n") == r"'\xe9\n'"
    assert len(short("x" * 500)) == 82
