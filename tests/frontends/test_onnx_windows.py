"""What the rules of ONNX's windows, matrices and normalizations make of a model, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.frontends.test_onnx_moves import assert_like_onnxruntime, graph_of, model_of, nodes_of
from tinydeploy.errors import ModelError, UnsupportedError
from tinydeploy.ir import Graph
from tinydeploy.ops.interpreter import Interpreter


def normal(*shape: int) -> npt.NDArray[np.float32]:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def positive(*shape: int) -> npt.NDArray[np.float32]:
    return np.abs(normal(*shape)) + np.float32(0.5)


LIKE: dict[str, tuple[str, tuple[Any, ...], dict[str, Any]]] = {
    "conv_1d_groups": ("Conv", ((1, 4, 9), normal(6, 2, 3), normal(6)), {"group": 2, "pads": [2, 1]}),
    "conv_1d_depthwise": ("Conv", ((1, 4, 9), normal(8, 1, 3)), {"group": 4, "dilations": [2]}),
    "conv_same_lower": (
        "Conv",
        ((1, 3, 7, 6), normal(4, 3, 4, 2), normal(4)),
        {"auto_pad": "SAME_LOWER", "strides": [2, 1]},
    ),
    "conv_valid": ("Conv", ((1, 3, 7, 6), normal(4, 3, 3, 3)), {"auto_pad": "VALID", "strides": [1, 2]}),
    "conv_3d": (
        "Conv",
        ((1, 4, 4, 5, 3), normal(6, 2, 2, 3, 2), normal(6)),
        {"group": 2, "pads": [1, 0, 1, 0, 2, 0], "strides": [1, 2, 1]},
    ),
    "conv_of_a_batch": ("Conv", ((3, 2, 5, 4), normal(3, 2, 3, 3)), {"pads": [1, 1, 1, 1]}),
    "conv_run_time_weights": ("Conv", ((1, 2, 5, 4), (3, 2, 3, 3), (3,)), {"pads": [1, 0, 1, 0]}),
    "transposed_1d_groups": (
        "ConvTranspose",
        ((1, 4, 5), normal(4, 3, 3), normal(6)),
        {"group": 2, "strides": [2], "pads": [1, 0], "output_padding": [1]},
    ),
    "transposed_output_shape": (
        "ConvTranspose",
        ((1, 2, 3, 3), normal(2, 4, 3, 3)),
        {"strides": [2, 2], "output_shape": [6, 6], "auto_pad": "SAME_UPPER"},
    ),
    "transposed_3d": ("ConvTranspose", ((1, 2, 2, 3, 2), normal(2, 3, 2, 2, 3)), {"strides": [2, 1, 2]}),
    "average_1d_ceil": (
        "AveragePool",
        ((1, 2, 10),),
        {"kernel_shape": [3], "strides": [2], "ceil_mode": 1, "pads": [1, 0]},
    ),
    "average_3d": ("AveragePool", ((2, 2, 4, 5, 3),), {"kernel_shape": [2, 3, 2], "strides": [2, 1, 1]}),
    "average_same_counted": (
        "AveragePool",
        ((1, 2, 5, 6),),
        {"kernel_shape": [3, 2], "auto_pad": "SAME_UPPER", "count_include_pad": 1},
    ),
    "max_3d": ("MaxPool", ((1, 2, 4, 5, 3),), {"kernel_shape": [2, 2, 2], "pads": [1, 0, 1, 0, 1, 0]}),
    "lp_1d": ("LpPool", ((1, 2, 9),), {"kernel_shape": [3], "p": 3}),
    "global_lp": ("GlobalLpPool", ((1, 2, 4, 3),), {"p": 1}),
    "global_max_1d": ("GlobalMaxPool", ((2, 3, 5),), {}),
    "gemm_weights": (
        "Gemm",
        ((3, 4), normal(4, 5), normal(5)),
        {"alpha": 0.5, "beta": 2.0},
    ),
    "gemm_matrix": ("Gemm", ((4, 3), normal(5, 4), normal(3, 1)), {"transA": 1, "transB": 1, "beta": 0.5}),
    "gemm_number": ("Gemm", ((3, 4), normal(4, 5), normal(1)), {}),
    "gemm_run_time": ("Gemm", ((3, 4), (4, 5), (3, 5)), {"alpha": 3.0, "beta": 0.25}),
    "matmul_of_vectors": ("MatMul", ((4,), (2, 4, 3)), {}),
    "matmul_weights": ("MatMul", ((2, 3, 4), normal(4, 5)), {}),
    "batch_norm": ("BatchNormalization", ((2, 3, 4), normal(3), normal(3), normal(3), positive(3)), {}),
    "batch_norm_run_time": ("BatchNormalization", ((2, 3), (3,), normal(3), normal(3), positive(3)), {}),
    "layer_norm": ("LayerNormalization", ((2, 3, 4), normal(3, 4), normal(3, 4)), {"axis": 1}),
    "instance_norm_1d": ("InstanceNormalization", ((2, 3, 9), normal(3), normal(3)), {"epsilon": 0.01}),
    "group_norm_18": (
        "GroupNormalization",
        ((2, 6, 3, 2), normal(3), normal(3)),
        {"num_groups": 3, "opset": 18},
    ),
    "group_norm_21": (
        "GroupNormalization",
        ((2, 6, 3, 2), normal(6), normal(6)),
        {"num_groups": 3, "opset": 21},
    ),
    "lp_norm": ("LpNormalization", ((2, 3, 4),), {"axis": 1, "p": 1}),
    "lrn": ("LRN", ((1, 5, 3, 2),), {"size": 3, "alpha": 0.5, "bias": 2.0}),
    "softmax_9": ("Softmax", ((2, 3, 4),), {"axis": 1, "opset": 9}),
    "softmax_13": ("Softmax", ((2, 3, 4),), {"axis": 1}),
    "log_softmax_9": ("LogSoftmax", ((2, 3, 4),), {"opset": 9}),
    "hardmax": ("Hardmax", ((2, 3, 4),), {"axis": 1}),
}  # fmt: skip


@pytest.mark.parametrize("name", LIKE)
def test_the_reference_agrees_with_onnxruntime(name: str) -> None:
    op, operands, options = LIKE[name]
    assert_like_onnxruntime(model_of(op, operands, **options))


def test_indices_of_a_pool_point_at_its_values() -> None:
    graph = graph_of("MaxPool", (2, 3, 5, 4), outputs=2, kernel_shape=[2, 2], strides=[2, 1])
    data = normal(2, 3, 5, 4)
    values, indices = Interpreter(graph).run([data])
    np.testing.assert_array_equal(data.reshape(-1)[indices], values)


@pytest.mark.parametrize(
    ("graph", "nodes"),
    [
        (graph_of("Gemm", (3, 4), normal(4, 5), normal(5), alpha=0.5, beta=2.0), ["FullyConnected"]),
        (graph_of("Gemm", (3, 4), normal(5, 4), normal(3, 5), transB=1), ["FullyConnected", "Add"]),
        (graph_of("MatMul", (2, 3, 4), normal(4, 5)), ["FullyConnected"]),
        (graph_of("MatMul", (2, 3, 4), (4, 5)), ["BatchMatMul"]),
        (graph_of("Softmax", (2, 3)), ["Softmax"]),
        (
            graph_of("Conv", (1, 4, 5, 5), normal(4, 1, 3, 3), group=4),
            ["Transpose", "DepthwiseConv2D", "Transpose"],
        ),
        (
            graph_of("Conv", (1, 4, 5, 5), normal(4, 2, 3, 3), group=2),
            ["Transpose", "GroupedConv2D", "Transpose"],
        ),
        (graph_of("Conv", (1, 4, 5, 5), normal(4, 4, 3, 3)), ["Transpose", "Conv2D", "Transpose"]),
    ],
)  # fmt: skip
def test_what_operators_become(graph: Graph, nodes: list[str]) -> None:
    assert nodes_of(graph) == nodes


@pytest.mark.parametrize(
    ("op", "operands", "options", "text"),
    [
        ("Conv", ((1, 4, 5, 5), normal(4, 4, 3)), {}, r"weights \[4, 4, 3\] for data \[1, 4, 5, 5\]"),
        ("Conv", ((4, 5), normal(4, 4)), {}, r"data of shape \[4, 5\]; \[N, C, ...\] is needed"),
        ("Conv", ((1, 4, 5), normal(4, 3, 3)), {}, r"weights \[4, 3, 3\] in 1 groups for 4 channels"),
        (
            "Conv",
            ((1, 4, 5), normal(4, 4, 3)),
            {"kernel_shape": [2]},
            r"kernel_shape \[2\], but weights \[4, 4, 3\]",
        ),
        ("Conv", ((1, 4, 5), normal(4, 4, 3)), {"strides": [0]}, r"strides \[0\]; 1 numbers from 1 on"),
        ("Conv", ((1, 4, 5), normal(4, 4, 3)), {"pads": [1]}, r"pads \[1\]; 2 numbers are needed"),
        (
            "Conv",
            ((1, 4, 5), normal(4, 4, 3)),
            {"auto_pad": "SAME"},
            "auto_pad 'SAME' is none of NOTSET, VALID, SAME_UPPER, SAME_LOWER",
        ),
        (
            "ConvTranspose",
            ((1, 4, 5), normal(3, 4, 3)),
            {},
            r"weights \[3, 4, 3\] in 1 groups for data \[1, 4, 5\]",
        ),
        (
            "ConvTranspose",
            ((1, 4, 2), normal(4, 4, 1)),
            {"pads": [1, 1]},
            r"its result would have the extents \[0\]",
        ),
        (
            "ConvTranspose",
            ((1, 4, 2), normal(4, 4, 1)),
            {"output_padding": [-1]},
            r"output_padding \[-1\] or output_shape for 1 dimensions",
        ),
        ("MaxPool", ((1, 4, 5),), {}, "kernel_shape is missing"),
        (
            "Col2Im",
            ((1, 5, 5), np.array([5, 5]), np.array([1, 2])),
            {"opset": 18},
            r"data \[1, 5, 5\] for images \[5, 5\] of blocks \[1, 2\]",
        ),
        (
            "Col2Im",
            ((1, 5, 7), np.array([5, 5]), np.array([1, 5])),
            {"opset": 18},
            r"7 blocks in a grid of \[5, 1\]",
        ),
        ("MatMul", ((2, 3), (4, 5)), {}, r"shapes \[2, 3\] and \[4, 5\] do not match"),
        ("MatMul", ((), (4, 5)), {}, r"shapes \[\] and \[4, 5\]; a matrix has dimensions"),
        ("Gemm", ((2, 3, 4), (4, 5)), {}, r"shapes \[2, 3, 4\] and \[4, 5\]; matrices are needed"),
        ("Gemm", ((2, 3), (4, 5)), {}, "inner extents 3 and 4 do not match"),
        ("Gemm", ((2, 3), (3, 5), (2, 2, 5)), {}, r"C of shape \[2, 2, 5\] for a result \[2, 5\]"),
        ("Softmax", ((2, 3),), {"axis": 2}, "axis 2 of 2 dimensions"),
        ("Softmax", ((),), {}, "a single number has no axis"),
        ("LpNormalization", ((2, 3),), {"p": 3}, "p is 3; 1 or 2 is allowed"),
        ("LRN", ((2, 3),), {"size": 0}, "size is 0; at least 1 is needed"),
        ("LRN", ((2,),), {"size": 1}, r"data of shape \[2\]; \[N, C, ...\] is needed"),
        (
            "GroupNormalization",
            ((2, 6, 3), normal(3), normal(3)),
            {"num_groups": 4, "opset": 21},
            "4 groups of 6 channels",
        ),
        (
            "GroupNormalization",
            ((2, 6, 3), normal(4), normal(3)),
            {"num_groups": 3, "opset": 21},
            r"input 1 of shape \[4\] for 3 groups, 6 channels",
        ),
        ("InstanceNormalization", ((2, 6), normal(6), normal(6)), {}, r"data of shape \[2, 6\]; \[N, C"),
        ("MeanVarianceNormalization", ((2, 6),), {"axes": [0, 3]}, r"axes \[0, 3\] of 2 dimensions"),
        (
            "BatchNormalization",
            ((2,), *(normal(2),) * 3, positive(2)),
            {},
            r"data of shape \[2\]; \[N, C, ...\] is needed",
        ),
        (
            "MaxUnpool",
            ((1, 1, 2, 2), np.zeros((1, 1, 2, 1), np.int64)),
            {"kernel_shape": [2, 2]},
            r"values \[1, 1, 2, 2\] at \[1, 1, 2, 1\] in \[1, 1, 3, 3\]",
        ),
        (
            "MaxUnpool",
            ((1, 1, 2, 2), np.zeros((1, 1, 2, 2), np.int64), np.array([1, 1, 2, 3])),
            {"kernel_shape": [2, 2]},
            r"output_shape \[1, 1, 2, 3\] for \[1, 1, 3, 3\]",
        ),
    ],
)  # fmt: skip
def test_contradictions_are_named(op: str, operands: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(ModelError, match=text):
        graph_of(op, *operands, **options)


@pytest.mark.parametrize(
    ("op", "operands", "options", "text"),
    [
        ("Conv", ((1, 2, 2, 2, 2, 2), normal(2, 2, 1, 1, 1, 1)), {}, "4 spatial dimensions"),
        ("Conv", ((1, 4, 5), normal(4, 4, 3)), {"pads": [-1, 0]}, r"pads \[-1, 0\] are negative"),
        ("MaxPool", ((1, 2, 3, 3, 3),), {"kernel_shape": [2] * 3, "outputs": 2}, "indices of 3 dimensions"),
        (
            "BatchNormalization",
            ((2, 3), *(normal(3),) * 3, positive(3)),
            {"training_mode": 1, "opset": 15},
            "it is in training mode",
        ),
        (
            "Col2Im",
            ((1, 1, 1), np.array([1] * 4), np.array([1] * 4)),
            {"opset": 18},
            "4 spatial dimensions",
        ),
    ],
)
def test_what_is_not_supported_is_refused(op: str, operands: Any, options: dict[str, Any], text: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        graph_of(op, *operands, **options)
    (gap,) = caught.value.gaps
    assert (gap.op, gap.remedy != "") == (op, True)
    assert text.replace("\\", "") in gap.reason
