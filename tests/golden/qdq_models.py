"""Quantized ONNX graphs that tests generate: operators between DequantizeLinear and QuantizeLinear."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tinydeploy.ir import Array

Feeds = dict[str, Array]
OPSET = 21


@dataclass
class QdqBuilder:
    """Float values by name, each made by DequantizeLinear; integer inputs and outputs.

    Scales and zero points are those of int8; steps of 16 bits are finer and count from 0.
    """

    seed: int = 0
    dtype: str = "int8"
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    initializers: list[onnx.TensorProto] = field(default_factory=list)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    outputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    feeds: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)

    def constant(self, array: Array, name: str = "") -> str:
        name = name or f"c{len(self.initializers)}"
        self.initializers.append(numpy_helper.from_array(array, name))
        return name

    def node(self, op: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        name = f"{op.lower()}{len(self.nodes)}"
        made = helper.make_node(op, list(inputs), [f"{name}_out"], name=name, domain=domain, **attributes)
        self.nodes.append(made)
        return f"{name}_out"

    def input(self, shape: Sequence[int], scale: float = 0.05, zero_point: int = 3) -> str:
        """An integer input; the result is its real numbers."""
        name = f"in{len(self.inputs)}"
        self.inputs.append(helper.make_tensor_value_info(name, _kind(self.dtype), list(shape)))
        self.feeds[name] = tuple(shape)
        return self.dequantize(name, scale, zero_point)

    def dequantize(self, steps: str, scale: float, zero_point: int) -> str:
        return self.node("DequantizeLinear", steps, *self._quant(scale, zero_point))

    def quantize(self, value: str, scale: float = 0.05, zero_point: int = -5) -> str:
        return self.node("QuantizeLinear", value, *self._quant(scale, zero_point))

    def between(self, value: str, scale: float = 0.05, zero_point: int = -5) -> str:
        """Quantize and dequantize, as exporters mark a value."""
        return self.dequantize(self.quantize(value, scale, zero_point), scale, zero_point)

    def output(self, value: str, scale: float = 0.05, zero_point: int = -5) -> str:
        """The value's steps are an output of the model."""
        steps = self.quantize(value, scale, zero_point)
        self.outputs.append(helper.make_tensor_value_info(steps, _kind(self.dtype), None))
        return steps

    def weights(
        self,
        *shape: int,
        axis: int | None = None,
        dtype: str = "int8",
        spread: float = 1.0,
        zero_point: int = 0,
    ) -> str:
        """Dequantized constants of about ``spread``; one scale, or one per index of an axis."""
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        steps = self.random.integers(low, high, shape, endpoint=True).astype(dtype)
        count = () if axis is None else (shape[axis],)
        scale = (self.random.uniform(0.3, 1.0, count) * spread / high).astype(np.float32)
        points = np.full(count, zero_point, dtype)
        attributes: dict[str, Any] = {} if axis is None else {"axis": axis}
        return self.node(
            "DequantizeLinear",
            self.constant(steps),
            self.constant(np.asarray(scale)),
            self.constant(np.asarray(points)),
            **attributes,
        )

    @property
    def lowest(self) -> int:
        """The zero point of numbers that are not negative, as the other methods take it."""
        return -128

    def real(self, *shape: int) -> str:
        """Constant floats around 1, which the model does not quantize."""
        return self.constant(self.random.normal(0.8, 0.4, shape).astype(np.float32))

    def number(self, value: float) -> str:
        return self.constant(np.array(value, np.float32))

    def bias(self, real: Sequence[float], scale: float = 1e-4) -> str:
        """A dequantized int32 constant."""
        steps = np.rint(np.asarray(real) / scale).astype(np.int32)
        return self.node("DequantizeLinear", self.constant(steps), self.constant(np.array(scale, np.float32)))

    def model(self) -> onnx.ModelProto:
        graph = helper.make_graph(self.nodes, "qdq", self.inputs, self.outputs, self.initializers)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10)

    def samples(self, count: int) -> list[Feeds]:
        """Inputs of every step; the first holds the lowest and highest alone."""
        info = np.iinfo(self.dtype)
        low, high = int(info.min), int(info.max)
        made: list[Feeds] = []
        for index in range(count):
            least, most = (low, high) if index % 2 == 0 else (low // 4, high // 4)
            made.append(
                {
                    name: self.random.integers(least, most, shape, endpoint=True).astype(self.dtype)
                    for name, shape in self.feeds.items()
                }
            )
        return made

    def _quant(self, scale: float, zero_point: int) -> tuple[str, str]:
        if self.dtype.startswith("u"):
            zero_point += (np.iinfo(self.dtype).max + 1) // 2
        if self.dtype == "int16":
            scale, zero_point = scale / 200, 0
        return (
            self.constant(np.array(scale, np.float32)),
            self.constant(np.array(zero_point, self.dtype)),
        )


def _kind(dtype: str) -> int:
    return int(getattr(TensorProto, dtype.upper()))
