"""Import rules of elementwise, reducing, moving and cutting operators: attributes, gaps, contradictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema  # type: ignore[import-untyped]

from tests.tflite_builder import ModelBuilder
from tinydeploy.errors import ModelError, UnsupportedError
from tinydeploy.frontends.tflite import load_bytes
from tinydeploy.ir import Attrs
from tinydeploy.ops.arg_max import ArgMax
from tinydeploy.ops.batch_mat_mul import BatchMatMul
from tinydeploy.ops.concatenation import Concatenation
from tinydeploy.ops.gather import Gather
from tinydeploy.ops.grouped_conv_2d import GroupedConv2D
from tinydeploy.ops.leaky_relu import LeakyRelu
from tinydeploy.ops.mean import Mean
from tinydeploy.ops.pad import Border, Pad
from tinydeploy.ops.quantized import Activation
from tinydeploy.ops.relu import Relu
from tinydeploy.ops.reshape import Reshape
from tinydeploy.ops.resize import Method, Resize
from tinydeploy.ops.slice import Slice
from tinydeploy.ops.sub import Sub
from tinydeploy.ops.transpose import Transpose
from tinydeploy.ops.transpose_conv import TransposeConv


def image() -> ModelBuilder:
    return ModelBuilder().input((1, 5, 4, 2), zero_point=-3, name="data")


def strided(shape: tuple[int, ...], begin: Any, end: Any, stride: Any, **masks: int) -> ModelBuilder:
    options = schema.StridedSliceOptionsT(**masks)
    return image().move("STRIDED_SLICE", shape, begin, end, stride, options=options)


@pytest.mark.parametrize(
    ("builder", "attrs"),
    [
        (image().binary("SUB", 0, activation="RELU"), Sub(Activation.RELU)),
        (image().unary("RELU_0_TO_1"), Relu(Activation.RELU_0_TO_1)),
        (image().unary("LEAKY_RELU", schema.LeakyReluOptionsT(alpha=0.25)), LeakyRelu(0.25)),
        (image().reduce("MEAN", (-1, 1, 1), keep_dims=True), Mean((1, 3), True)),
        (image().index("ARG_MAX", -1), ArgMax((3,))),
        (image().move("PAD", (1, 6, 4, 2), [[0, 0], [0, 1], [0, 0], [0, 0]]),
         Pad(((0, 0), (0, 1), (0, 0), (0, 0)), Border.CONSTANT, -3)),
        (image().move("MIRROR_PAD", (1, 6, 4, 2), [[0, 0], [0, 1], [0, 0], [0, 0]],
                      options=schema.MirrorPadOptionsT(mode=1)),
         Pad(((0, 0), (0, 1), (0, 0), (0, 0)), Border.SYMMETRIC)),
        (image().move("TRANSPOSE", (1, 2, 5, 4), (0, -1, 1, 2)), Transpose((0, 3, 1, 2))),
        (image().move("SLICE", (1, 2, 4, 1), (0, 3, 0, 1), (1, -1, 4, 1)),
         Slice((0, 3, 0, 1), (1, 2, 4, 1), (1, 1, 1, 1))),
        (strided((5, 2, 1), (0, 4, 0, 1), (9, -9, 4, 2), (1, -1, 2, 1), shrinkAxisMask=1),
         Slice((0, 4, 0, 1), (1, 5, 2, 1), (1, -1, 2, 1), (0,))),
        (image().concatenate([0], -1), Concatenation(3)),
        (image().move("GATHER", (1, 5, 2, 2), (3, 0), options=schema.GatherOptionsT(axis=2)),
         Gather(2, (3, 0), (2,))),
        (image().move("EXPAND_DIMS", (1, 1, 5, 4, 2), (1,)), Reshape((1, 1, 5, 4, 2))),
        (image().move("SQUEEZE", (5, 4, 2)), Reshape((5, 4, 2))),
        (image().move("RESIZE_BILINEAR", (1, 3, 3, 2), (3, 3),
                      options=schema.ResizeBilinearOptionsT(halfPixelCenters=True)),
         Resize((3, 3), Method.BILINEAR, False, True)),
        (image().conv2d(4, (1, 1), groups=2), GroupedConv2D()),
        (image().transpose_conv(3, (3, 3), stride=(2, 2)), TransposeConv((10, 8), (2, 2), (0, 0))),
        (image().transpose_conv(3, (4, 3), stride=(1, 1)), TransposeConv((5, 4), (1, 1), (1, 1))),
        (ModelBuilder().input((2, 3)).input((2, 3)).batch_matmul(0, adj_y=True, scale=0.1),
         BatchMatMul(False, True)),
    ],
)  # fmt: skip
def test_attributes(builder: ModelBuilder, attrs: Attrs) -> None:
    (node,) = load_bytes(builder.build(), "m").nodes
    assert node.attrs == attrs


@pytest.mark.parametrize("op", ["SPLIT", "SPLIT_V"])
def test_a_split_is_a_slice_per_output(op: str) -> None:
    builder = image().split(2, (2, 2), op=op)
    builder.outputs = list(builder.operators[0].outputs)
    graph = load_bytes(builder.build(), "m")
    assert [node.attrs for node in graph.nodes] == [
        Slice((0, 0, first, 0), (1, 5, 2, 2), (1, 1, 1, 1)) for first in (0, 2)
    ]
    assert [graph.values[value].name for value in graph.outputs] == [
        builder.tensors[index].name for index in builder.outputs
    ]


def test_one_size_of_a_split_may_be_what_is_left() -> None:
    builder = image().split(1, (2, 3))
    sizes = builder.operators[0].inputs[1]
    builder.model.buffers[builder.tensors[sizes].buffer].data = np.frombuffer(
        np.array([2, -1], np.int32).tobytes(), np.uint8
    )
    assert len(load_bytes(builder.build(), "m").nodes) == 2


def at_run_time(builder: ModelBuilder, position: int) -> ModelBuilder:
    """The numbers of an operand become an input of the model."""
    tensor = builder.operators[0].inputs[position]
    builder.tensors[tensor].buffer = 0
    builder.inputs.append(tensor)
    return builder


def float_fill() -> ModelBuilder:
    builder = ModelBuilder().input((2,), dtype="float32", scale=None).move("PADV2", (3,), [[0, 1]])
    value = builder.tensor((1,), dtype="float32", scale=None, data=np.zeros(1, np.float32))
    builder.operators[0].inputs.append(value)
    return builder


def other_fill(**options: Any) -> ModelBuilder:
    builder = image().move("PADV2", (1, 6, 4, 2), [[0, 0], [0, 1], [0, 0], [0, 0]])
    builder.operators[0].inputs.append(builder.constant(options.pop("shape", (1,)), **options))
    return builder


def joined(count: int = 2, **options: Any) -> ModelBuilder:
    builder = image().concatenate([0] * (count - 1), 1)
    for name, value in options.items():
        setattr(builder.operators[0].builtinOptions, name, value)
    return builder


def gathered(**options: Any) -> ModelBuilder:
    return image().move("GATHER", (1, 2, 4, 2), (3, 0), options=schema.GatherOptionsT(axis=1, **options))


@pytest.mark.parametrize(
    ("builder", "reason"),
    [
        (at_run_time(image().reduce("MEAN", (1,)), 1), "the axes are computed when the model runs"),
        (at_run_time(image().move("TRANSPOSE", (1, 2, 5, 4), (0, 3, 1, 2)), 1), "the order of axes is comp"),
        (at_run_time(image().move("PAD", (1, 5, 4, 2), [[0, 0]] * 4), 1), "the paddings are computed when"),
        (at_run_time(image().move("SLICE", (1, 5, 4, 2), (0,) * 4, (1, 5, 4, 2)), 1), "the begin is comp"),
        (at_run_time(strided((1, 5, 4, 2), (0,) * 4, (9,) * 4, (1,) * 4), 2), "the end is computed when"),
        (at_run_time(image().split(1, (2, 3)), 1), "the sizes are computed when the model runs"),
        (at_run_time(image().split(0, (1,), op="SPLIT"), 0), "the axis is computed when the model runs"),
        (at_run_time(image().move("RESIZE_BILINEAR", (1, 3, 3, 2), (3, 3)), 1), "the new size is computed"),
        (at_run_time(image().move("SPACE_TO_BATCH_ND", (1, 5, 4, 2), (1, 1), [[0, 0]] * 2), 1),
         "the block's shape is computed when the model runs"),
        (strided((1, 5, 4, 2), (0,) * 4, (9,) * 4, (1,) * 4, newAxisMask=1), "ellipsis, new axes and"),
        (strided((1, 1, 4, 2), (0, 3, 0, 0), (1, 2, 9, 9), (1,) * 4), "the slice holds no elements"),
        (at_run_time(float_fill(), 2), "the padding's value is computed when the model runs"),
        (other_fill(scale=0.05, zero_point=5), "the padding's value has another scale or zero point"),
        (joined(33), "33 inputs; 32 are supported"),
        (joined(fusedActivationFunction=1), "a fused activation is not supported"),
    ],
)  # fmt: skip
def test_gaps(builder: ModelBuilder, reason: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        load_bytes(builder.build(), "m")
    gap = caught.value.gaps[0]
    assert gap.reason.startswith(reason)
    assert gap.remedy


def with_numbers(builder: ModelBuilder, position: int, *numbers: int) -> ModelBuilder:
    """Other numbers in the place of an operand's."""
    builder.operators[0].inputs[position] = builder.numbers(*numbers)
    return builder


def float_axis() -> ModelBuilder:
    builder = image().reduce("MEAN", (1,))
    builder.tensors[builder.operators[0].inputs[1]].type = schema.TensorType.FLOAT32
    return builder


def changed(builder: ModelBuilder, **options: Any) -> ModelBuilder:
    for name, value in options.items():
        setattr(builder.operators[0].builtinOptions, name, value)
    return builder


PADDED: Callable[[], ModelBuilder] = lambda: image().move("PAD", (1, 5, 4, 2), [[0, 0]] * 4)  # noqa: E731
BLOCKS = schema.SpaceToDepthOptionsT


@pytest.mark.parametrize(
    ("builder", "words"),
    [
        (with_numbers(image().reduce("SUM", (1,)), 1, 4), "axis 4 of 4 dimensions"),
        (float_axis(), "the axes are FLOAT32[1], not int32"),
        (with_numbers(PADDED(), 1, 1, 2, 3), "3 numbers of padding; 8 are needed"),
        (other_fill(scale=0.05, zero_point=-3, shape=(2,)), "the padding's value is INT8[2]"),
        (image().move("MIRROR_PAD", (1, 5, 4, 2), [[0, 0]] * 4, options=schema.MirrorPadOptionsT(mode=3)),
         "mode 3 is neither REFLECT (0) nor SYMMETRIC (1)"),
        (with_numbers(image().move("SLICE", (1, 5, 4, 2), (0,) * 4, (1, 5, 4, 2)), 1, 0, 0),
         "begin [0, 0] and size [1, 5, 4, 2] for [1, 5, 4, 2]"),
        (strided((1, 5, 4, 2), (0,) * 4, (9,) * 4, (1, 0, 1, 1)),
         "begin [0, 0, 0, 0], end [9, 9, 9, 9], stride [1, 0, 1, 1] for [1, 5, 4, 2]"),
        (with_numbers(image().split(1, (2, 3)), 2, 1, 1), "the axis is [1, 1]; one number is needed"),
        (with_numbers(image().split(1, (2, 3)), 1, 2, 2), "sizes [2, 2] for 2 outputs from 5 elements"),
        (image().split(1, (2, 3), op="SPLIT"), "2 outputs from 5 elements along axis 1"),
        (image().move("SPACE_TO_DEPTH", (1, 5, 4, 2), options=BLOCKS(blockSize=0)), "blocks of 0"),
        (with_numbers(image().move("BATCH_TO_SPACE_ND", (1, 5, 4, 2), (1, 1), [[0, 0]] * 2), 1, 0, 1),
         "blocks of [0, 1]"),
        (with_numbers(image().move("RESIZE_BILINEAR", (1, 3, 3, 2), (3, 3)), 1, 3),
         "the new size is [3]; height and width are needed"),
        (changed(image().transpose_conv(3, (3, 3)), padding=7), "padding 7 is neither SAME (0) nor VALID"),
        (with_numbers(image().transpose_conv(3, (3, 3)), 0, 1, 5, 4),
         "the output's shape is [1, 5, 4]; 4 extents from 1 on are needed"),
        (image().unary("LEAKY_RELU"), "LeakyReluOptions are missing"),
    ],
)  # fmt: skip
def test_contradictions(builder: ModelBuilder, words: str) -> None:
    with pytest.raises(ModelError) as caught:
        load_bytes(builder.build(), "m")
    assert words in str(caught.value)


def test_indices_that_the_model_computes_are_an_input() -> None:
    (node,) = load_bytes(at_run_time(gathered(), 1).build(), "model").nodes
    assert (node.attrs, len(node.inputs)) == (Gather(1), 2)


def test_more_batch_dimensions_than_indices_have() -> None:
    with pytest.raises(ModelError, match=r"2 batch dimensions for indices \[2\]"):
        load_bytes(gathered(batchDims=2).build(), "model")
