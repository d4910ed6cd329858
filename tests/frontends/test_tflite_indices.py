"""What the rules of TFLite's indexing and filling operators refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema  # type: ignore[import-untyped]

from tests.tflite_builder import ModelBuilder
from tinydeploy.errors import ModelError, UnsupportedError
from tinydeploy.frontends.tflite import load_bytes


def plain(shape: tuple[int, ...] = (2, 3)) -> ModelBuilder:
    return ModelBuilder().input(shape, dtype="float32", scale=None)


def with_result(builder: ModelBuilder, op: str, inputs: list[int], options: Any = None) -> ModelBuilder:
    return builder.operator(op, inputs, [builder.tensor((2, 3), dtype="float32", scale=None)], options)


def value(builder: ModelBuilder, dtype: str = "float32", shape: tuple[int, ...] = ()) -> int:
    return builder.tensor(shape, dtype=dtype, scale=None, data=np.ones(shape, dtype))


def one_hot(depth: int, off: str = "float32", *, constant: bool = True) -> ModelBuilder:
    builder = ModelBuilder().input((2,), dtype="int32", scale=None)
    on = value(builder)
    if not constant:
        on = builder.input((), dtype="float32", scale=None).current
    operands = [0, builder.numbers(depth, shape=()), on, value(builder, off)]
    return with_result(builder, "ONE_HOT", operands, schema.OneHotOptionsT(axis=-1))


def scattered(*shape: int) -> ModelBuilder:
    builder = ModelBuilder().input((2, 1), dtype="int32", scale=None)
    updates = builder.input((2, 3), dtype="float32", scale=None).current
    return with_result(builder, "SCATTER_ND", [0, updates, builder.numbers(*shape)])


def filled(shape: tuple[int, ...]) -> ModelBuilder:
    builder = plain(shape)
    return with_result(builder, "FILL", [builder.numbers(2, 3), 0])


def reversed_along(axis: int) -> ModelBuilder:
    builder = plain()
    return with_result(builder, "REVERSE_V2", [0, builder.numbers(axis)])


@pytest.mark.parametrize(
    ("builder", "message"),
    [
        (one_hot(0), r"depth \[0\], values FLOAT32 and FLOAT32"),
        (one_hot(3, "int32"), r"depth \[3\], values FLOAT32 and INT32"),
        (scattered(0, 3), r"the shape \[0, 3\]"),
        (filled((2,)), r"its value has shape \[2\]; one element is needed"),
        (reversed_along(2), "axis 2 of 2 dimensions"),
    ],
)
def test_contradictions(builder: ModelBuilder, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load_bytes(builder.build(), "model")


def test_values_of_run_time() -> None:
    with pytest.raises(UnsupportedError, match="its values are computed when the model runs; use constants"):
        load_bytes(one_hot(3, constant=False).build(), "model")
