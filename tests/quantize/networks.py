"""Float networks and samples that the quantizer's tests share."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from tinydeploy.frontends import load
from tinydeploy.frontends.onnx import load_bytes
from tinydeploy.ir import Graph

Float32 = npt.NDArray[np.float32]


def convolutional(pads: int = 1, *, seed: int = 0, name: str = "x") -> onnx.ModelProto:
    """Convolutions with batch norm and clamps, a depthwise one, a pool, a residual, a dense layer."""
    random = np.random.default_rng(seed)

    def weights(label: str, *shape: int, positive: bool = False) -> onnx.TensorProto:
        array = random.standard_normal(shape) * 0.5
        return numpy_helper.from_array((np.abs(array) + 0.5 if positive else array).astype(np.float32), label)

    norm = ["scale", "offset", "mean", "variance"]
    nodes = [
        helper.make_node("Conv", [name, "w"], ["c"], pads=[pads] * 4),
        helper.make_node("BatchNormalization", ["c", *norm], ["n"]),
        helper.make_node("Relu", ["n"], ["r"]),
        helper.make_node("Conv", ["r", "w2", "b2"], ["c2"], group=8, pads=[1] * 4),
        helper.make_node("BatchNormalization", ["c2", *norm], ["n2"]),
        helper.make_node("Clip", ["n2", "zero", "six"], ["r2"]),
        helper.make_node("MaxPool", ["r2"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["p", "w3"], ["c3"]),
        helper.make_node("Add", ["c3", "p"], ["a"]),
        helper.make_node("Relu", ["a"], ["ar"]),
        helper.make_node("Flatten", ["ar"], ["f"]),
        helper.make_node("MatMul", ["f", "wm"], ["mm"]),
        helper.make_node("Add", ["mm", "bm"], ["y0"]),
        helper.make_node("Softmax", ["y0"], ["y"], axis=-1),
    ]
    side = (8 + 2 * pads - 2) // 2
    constants = [
        weights("w", 8, 3, 3, 3),
        weights("scale", 8, positive=True),
        weights("offset", 8),
        weights("mean", 8),
        weights("variance", 8, positive=True),
        weights("w2", 8, 1, 3, 3),
        weights("b2", 8),
        weights("w3", 8, 8, 1, 1),
        weights("wm", 8 * side * side, 5),
        weights("bm", 5),
        numpy_helper.from_array(np.array(0, np.float32), "zero"),
        numpy_helper.from_array(np.array(6, np.float32), "six"),
    ]
    graph = helper.make_graph(
        nodes,
        "net",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 5])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def graph_of(model: onnx.ModelProto, name: str = "net") -> Graph:
    """The graph of a model in memory."""
    return load_bytes(model.SerializeToString(), name)


def images(count: int, *, seed: int = 1) -> Float32:
    """Normal numbers [count, 3, 8, 8]."""
    return np.random.default_rng(seed).standard_normal((count, 3, 8, 8)).astype(np.float32)


__all__ = ["convolutional", "graph_of", "images", "load"]
