"""TensorFlow Lite Micro as the oracle: runs a file and gives every tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from tflite_micro.python.tflite_micro import runtime

from tinydeploy.frontends.tflite.model import read
from tinydeploy.ir import Graph
from tinydeploy.ops.interpreter import Interpreter

Array = npt.NDArray[Any]
ARENA_BYTES = 4 << 20


class Tflm:
    """A model in TFLM's interpreter, with every tensor kept after a run."""

    def __init__(self, data: bytes) -> None:
        self._interpreter = runtime.Interpreter.from_bytes(
            data,
            arena_size=ARENA_BYTES,
            intrepreter_config=runtime.InterpreterConfig.kPreserveAllTensors,
        )

    def run(self, inputs: Sequence[Array]) -> None:
        for index, array in enumerate(inputs):
            self._interpreter.set_input(array, index)
        self._interpreter.invoke()

    def tensor(self, index: int) -> Array:
        return np.array(self._interpreter.GetTensor(index, 0)["tensor_data"])


def tensor_indices(data: bytes, graph: Graph) -> dict[int, int]:
    """Id of every value that a node makes to the tensor in the file, by name; names must be unique."""
    by_name: dict[str, int] = {}
    for tensor in read(data, "oracle").subgraphs[0].tensors:
        assert tensor.name not in by_name, f"two tensors are named {tensor.name!r}"
        by_name[tensor.name] = tensor.index
    return {value: by_name[graph.values[value].name] for node in graph.nodes for value in node.outputs}


def assert_same_tensors(data: bytes, graph: Graph, samples: Sequence[Sequence[Array]]) -> int:
    """Every tensor that a node makes has TFLM's bits for every sample; the result counts comparisons."""
    oracle = Tflm(data)
    interpreter = Interpreter(graph)
    indices = tensor_indices(data, graph)
    producers = graph.producers()
    compared = 0
    for number, inputs in enumerate(samples):
        oracle.run(inputs)
        arrays = interpreter.run_all(inputs)
        for value, index in indices.items():
            node = graph.nodes[producers[value]]
            np.testing.assert_array_equal(
                arrays[value],
                oracle.tensor(index).reshape(arrays[value].shape),
                err_msg=f"sample {number}, {node.op} {node.name!r}",
            )
            compared += 1
    return compared


def random_inputs(graph: Graph, count: int, seed: int) -> list[list[Array]]:
    """Samples for a graph of integer inputs: all lowest, all highest, the rest uniform."""
    rng = np.random.default_rng(seed)
    types = [graph.type(value) for value in graph.inputs]
    extremes = [
        [np.full(type_.shape, type_.dtype.limits[end], type_.dtype.numpy) for type_ in types]
        for end in (0, 1)
    ]
    rest = [
        [
            rng.integers(type_.dtype.limits[0], type_.dtype.limits[1] + 1, type_.shape).astype(
                type_.dtype.numpy
            )
            for type_ in types
        ]
        for _ in range(max(0, count - 2))
    ]
    return [*extremes, *rest][:count]
