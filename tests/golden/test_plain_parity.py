"""Operators on plain numbers from TFLite files against LiteRT."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from ai_edge_litert import schema_py_generated as schema  # type: ignore[import-untyped]
from ai_edge_litert.interpreter import Interpreter as LiteRt  # type: ignore[import-untyped]
from ai_edge_litert.interpreter import OpResolverType

from tests.tflite_builder import ModelBuilder
from tinydeploy.frontends.tflite import load_bytes
from tinydeploy.ops.interpreter import Interpreter

Array = npt.NDArray[Any]
SHAPE = (1, 4, 6, 3)
ELEMENTS = (
    *("ABS", "CEIL", "COS", "ELU", "EXP", "FLOOR", "HARD_SWISH", "LOGISTIC", "NEG", "RELU", "RELU6"),
    *("RELU_N1_TO_1", "ROUND", "SIGN", "SIN", "SQUARE", "TANH"),
)
POSITIVE = ("LOG", "RSQRT", "SQRT")
PAIRS = ("ADD", "DIV", "FLOOR_DIV", "FLOOR_MOD", "MAXIMUM", "MINIMUM", "MUL", "SQUARED_DIFFERENCE", "SUB")
RELATIONS = ("EQUAL", "GREATER", "GREATER_EQUAL", "LESS", "LESS_EQUAL", "NOT_EQUAL")
REDUCTIONS = ("MEAN", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD", "SUM")
TYPES = {name: getattr(schema.TensorType, name.upper()) for name in ("bool", "float32", "int32")}


class Nodes:
    """Operators side by side, each an output of the model."""

    def __init__(self) -> None:
        self.builder = ModelBuilder()
        self.sample: list[Array] = []

    def input(self, array: Array) -> int:
        self.sample.append(array)
        return self.builder.input(array.shape, dtype=str(array.dtype), scale=None).current

    def add(
        self, op: str, inputs: list[int], dtype: str, options: Any = None, shape: tuple[int, ...] = SHAPE
    ) -> None:
        result = self.builder.tensor(shape, dtype=dtype, scale=None)
        self.builder.operator(op, inputs, [result], options).output()

    def check(self) -> None:
        """Our reference and LiteRT's kernels agree on every output."""
        data = self.builder.build()
        graph = load_bytes(data, "plain")
        kernels = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
        oracle = LiteRt(model_content=data, experimental_op_resolver_type=kernels)
        oracle.allocate_tensors()
        for place, array in zip(oracle.get_input_details(), self.sample, strict=True):
            oracle.set_tensor(place["index"], array)
        oracle.invoke()
        results = Interpreter(graph).run(self.sample)
        producers = graph.producers()
        for value, result, place in zip(graph.outputs, results, oracle.get_output_details(), strict=True):
            name = graph.nodes[producers[value]].attrs
            np.testing.assert_allclose(
                result, oracle.get_tensor(place["index"]), rtol=1e-5, atol=1e-6, err_msg=str(name)
            )


def numbers(dtype: str, seed: int, shape: tuple[int, ...] = SHAPE) -> Array:
    generator = np.random.default_rng(seed)
    if dtype == "float32":
        return (generator.standard_normal(shape) * 3).astype(np.float32)
    drawn = generator.integers(-9, 10, shape)
    return drawn > 0 if dtype == "bool" else np.where(drawn == 0, 1, drawn).astype(np.int32)


def test_functions_of_one_element() -> None:
    nodes = Nodes()
    data, truth, whole = (nodes.input(numbers(dtype, 1)) for dtype in ("float32", "bool", "int32"))
    positive = nodes.input(np.abs(numbers("float32", 2)) + np.float32(0.01))
    for op in ELEMENTS:
        nodes.add(op, [data], "float32")
    for op in POSITIVE:
        nodes.add(op, [positive], "float32")
    nodes.add("LEAKY_RELU", [data], "float32", schema.LeakyReluOptionsT(alpha=0.3))
    for rough in (False, True):
        nodes.add("GELU", [data], "float32", schema.GeluOptionsT(approximate=rough))
    nodes.add("LOGICAL_NOT", [truth], "bool")
    for source, dtype in ((data, "float32"), (truth, "bool"), (whole, "int32")):
        for wanted in TYPES:
            options = schema.CastOptionsT(inDataType=TYPES[dtype], outDataType=TYPES[wanted])
            nodes.add("CAST", [source], wanted, options)
    nodes.check()


def test_functions_of_two_elements() -> None:
    nodes = Nodes()
    for dtype in ("float32", "int32"):
        a, b = nodes.input(numbers(dtype, 3)), nodes.input(numbers(dtype, 4, (1, 1, 6, 1)))
        for op in PAIRS:
            nodes.add(op, [a, b], dtype)
        for op in RELATIONS:
            nodes.add(op, [a, b], "bool")
        base = nodes.input(np.abs(numbers(dtype, 5)))
        nodes.add("POW", [base, nodes.input(np.abs(numbers(dtype, 6)) % 4)], dtype)
        nodes.add("SELECT_V2", [nodes.input(numbers("bool", 7, (1, 4, 1, 3))), a, b], dtype)
        nodes.add("SELECT", [nodes.input(numbers("bool", 8)), a, base], dtype)
    c, d = nodes.input(numbers("bool", 9)), nodes.input(numbers("bool", 10))
    nodes.add("LOGICAL_AND", [c, d], "bool")
    nodes.add("LOGICAL_OR", [c, d], "bool")
    x = nodes.input(numbers("float32", 11))
    nodes.add("PRELU", [x, nodes.input(numbers("float32", 12, (1, 1, 3)))], "float32")
    nodes.check()


def test_reductions() -> None:
    nodes = Nodes()
    for dtype in ("float32", "int32"):
        data = nodes.input(numbers(dtype, 13))
        for op in REDUCTIONS:
            axes = nodes.builder.numbers(1, 3)
            nodes.add(op, [data, axes], dtype, schema.ReducerOptionsT(keepDims=True), (1, 1, 6, 1))
        axis = nodes.builder.numbers(2, shape=())
        for reverse in (False, True):
            nodes.add(
                "CUMSUM", [data, axis], dtype, schema.CumsumOptionsT(exclusive=reverse, reverse=reverse)
            )
        options = schema.ArgMaxOptionsT(outputType=schema.TensorType.INT64)
        nodes.add("ARG_MAX", [data, nodes.builder.numbers(2)], "int64", options, (1, 4, 3))
        values = nodes.builder.tensor((1, 4, 6, 2), dtype=dtype, scale=None)
        places = nodes.builder.tensor((1, 4, 6, 2), dtype="int32", scale=None)
        nodes.builder.operator("TOPK_V2", [data, nodes.builder.numbers(2, shape=())], [values, places])
        nodes.builder.at(values).output().at(places).output()
    truth = nodes.input(numbers("bool", 14))
    for op in ("REDUCE_ALL", "REDUCE_ANY"):
        axes = nodes.builder.numbers(2)
        nodes.add(op, [truth, axes], "bool", schema.ReducerOptionsT(), (1, 4, 3))
    nodes.check()
