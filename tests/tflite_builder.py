"""Builds small TFLite files for tests: one call per operator, weights drawn from a seed.

    data = ModelBuilder().input((1, 8, 8, 3)).conv2d(4, (3, 3), stride=(2, 2)).softmax().build()

Every operator reads the newest tensor (``at`` chooses another) and makes a new one with a fitting scale.
What a test wants wrong it sets on ``tensors``, ``operators`` or ``model`` before ``build``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import flatbuffers  # type: ignore[import-untyped]
import numpy as np
import numpy.typing as npt
from ai_edge_litert import schema_py_generated as schema  # type: ignore[import-untyped]

Pair = tuple[int, int]
Array = npt.NDArray[Any]

ACTIVATIONS = {"NONE": 0, "RELU": 1, "RELU_N1_TO_1": 2, "RELU6": 3, "TANH": 4, "SIGN_BIT": 5}
PADDINGS = {"SAME": 0, "VALID": 1}
TYPES = {
    "float32": schema.TensorType.FLOAT32,
    "int8": schema.TensorType.INT8,
    "uint8": schema.TensorType.UINT8,
    "int16": schema.TensorType.INT16,
    "int32": schema.TensorType.INT32,
    "int64": schema.TensorType.INT64,
    "bool": schema.TensorType.BOOL,
}


class ModelBuilder:
    """One model in the making; methods return the builder so that calls chain."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.tensors: list[Any] = []
        self.operators: list[Any] = []
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        self.current = -1
        self.model = schema.ModelT(
            version=3,
            operatorCodes=[],
            subgraphs=[],
            description="made by a test",
            buffers=[schema.BufferT()],
        )

    # Tensors

    def tensor(
        self,
        shape: Sequence[int],
        *,
        dtype: str = "int8",
        scale: float | Sequence[float] | None = 0.05,
        zero_point: int = 0,
        axis: int = 0,
        name: str | bytes | None = None,
        data: Array | None = None,
        signature: Sequence[int] | None = None,
    ) -> int:
        """Add a tensor, constant where ``data`` is given; the result is its index."""
        tensor = schema.TensorT(shape=list(shape), type=TYPES[dtype])
        tensor.name = f"tensor_{len(self.tensors)}" if name is None else name
        if signature is not None:
            tensor.shapeSignature = list(signature)
        if data is not None:
            self.model.buffers.append(schema.BufferT(data=np.frombuffer(data.tobytes(), np.uint8)))
            tensor.buffer = len(self.model.buffers) - 1
        if scale is not None:
            scales = [scale] if isinstance(scale, float) else list(scale)
            tensor.quantization = schema.QuantizationParametersT(
                scale=np.array(scales, np.float32),
                zeroPoint=np.full(len(scales), zero_point, np.int64),
                quantizedDimension=axis,
            )
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def input(self, shape: Sequence[int], **options: Any) -> ModelBuilder:
        """Add an input of the model; options as ``tensor``."""
        self.current = self.tensor(shape, **options)
        self.inputs.append(self.current)
        return self

    def output(self) -> ModelBuilder:
        """Make the newest tensor an output; without any, ``build`` takes the last."""
        self.outputs.append(self.current)
        return self

    def at(self, tensor: int) -> ModelBuilder:
        """Let the next operator read ``tensor``."""
        self.current = tensor
        return self

    def shape(self, tensor: int | None = None) -> tuple[int, ...]:
        return tuple(self.tensors[self.current if tensor is None else tensor].shape)

    def scale(self, tensor: int | None = None) -> float:
        return float(self.tensors[self.current if tensor is None else tensor].quantization.scale[0])

    # Operators

    def operator(
        self,
        op: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        options: Any = None,
        *,
        custom: str | None = None,
        options_kind: int | None = None,
    ) -> ModelBuilder:
        """Add any operator; ``op`` is its name in BuiltinOperator."""
        number = getattr(schema.BuiltinOperator, op)
        code = schema.OperatorCodeT(
            deprecatedBuiltinCode=min(number, 127), builtinCode=number, customCode=custom
        )
        codes = self.model.operatorCodes
        known = [(c.builtinCode, c.customCode) for c in codes]
        if (number, custom) not in known:
            codes.append(code)
            known.append((number, custom))
        operator = schema.OperatorT(
            opcodeIndex=known.index((number, custom)), inputs=list(inputs), outputs=list(outputs)
        )
        if options is not None:
            kind = type(options).__name__.removesuffix("T")
            operator.builtinOptions = options
            operator.builtinOptionsType = (
                getattr(schema.BuiltinOptions, kind) if options_kind is None else options_kind
            )
        self.operators.append(operator)
        if outputs:
            self.current = outputs[0]
        return self

    def conv2d(
        self,
        filters: int,
        kernel: Pair = (3, 3),
        *,
        stride: Pair = (1, 1),
        padding: str = "SAME",
        dilation: Pair = (1, 1),
        activation: str = "NONE",
        bias: bool = True,
        per_channel: bool = True,
        scale: float | None = None,
        zero_point: int = 0,
        weight_scale: float = 0.01,
        weights: Array | None = None,
        name: str | None = None,
    ) -> ModelBuilder:
        _, height, width, channels = self.shape()
        if weights is None:
            weights = self._weights((filters, *kernel, channels))
        options = schema.Conv2DOptionsT(
            padding=PADDINGS[padding],
            strideH=stride[0],
            strideW=stride[1],
            dilationHFactor=dilation[0],
            dilationWFactor=dilation[1],
            fusedActivationFunction=ACTIVATIONS[activation],
        )
        out = _windowed((height, width), kernel, stride, dilation, padding)
        return self._dot(
            "CONV_2D", weights, 0, (1, *out, filters), options,
            bias, per_channel, scale, zero_point, weight_scale, name,
        )  # fmt: skip

    def depthwise(
        self,
        multiplier: int = 1,
        kernel: Pair = (3, 3),
        *,
        stride: Pair = (1, 1),
        padding: str = "SAME",
        dilation: Pair = (1, 1),
        activation: str = "NONE",
        bias: bool = True,
        per_channel: bool = True,
        scale: float | None = None,
        zero_point: int = 0,
        weight_scale: float = 0.01,
        name: str | None = None,
    ) -> ModelBuilder:
        _, height, width, channels = self.shape()
        weights = self._weights((1, *kernel, channels * multiplier))
        options = schema.DepthwiseConv2DOptionsT(
            padding=PADDINGS[padding],
            strideH=stride[0],
            strideW=stride[1],
            dilationHFactor=dilation[0],
            dilationWFactor=dilation[1],
            depthMultiplier=multiplier,
            fusedActivationFunction=ACTIVATIONS[activation],
        )
        out = _windowed((height, width), kernel, stride, dilation, padding)
        return self._dot(
            "DEPTHWISE_CONV_2D", weights, 3, (1, *out, channels * multiplier), options,
            bias, per_channel, scale, zero_point, weight_scale, name,
        )  # fmt: skip

    def fully_connected(
        self,
        units: int,
        *,
        activation: str = "NONE",
        bias: bool = True,
        per_channel: bool = False,
        keep_dims: bool = False,
        depth: int | None = None,
        scale: float | None = None,
        zero_point: int = 0,
        weight_scale: float = 0.01,
        weights: Array | None = None,
        name: str | None = None,
    ) -> ModelBuilder:
        shape = self.shape()
        depth = shape[-1] if depth is None else depth
        if weights is None:
            weights = self._weights((units, depth))
        options = schema.FullyConnectedOptionsT(
            fusedActivationFunction=ACTIVATIONS[activation], keepNumDims=keep_dims
        )
        out = (*shape[:-1], units) if keep_dims else (math.prod(shape) // depth, units)
        return self._dot(
            "FULLY_CONNECTED", weights, 0, out, options,
            bias, per_channel, scale, zero_point, weight_scale, name,
        )  # fmt: skip

    def average_pool(
        self,
        size: Pair,
        *,
        stride: Pair = (1, 1),
        padding: str = "VALID",
        activation: str = "NONE",
        name: str | None = None,
    ) -> ModelBuilder:
        _, height, width, channels = self.shape()
        options = schema.Pool2DOptionsT(
            padding=PADDINGS[padding],
            strideH=stride[0],
            strideW=stride[1],
            filterHeight=size[0],
            filterWidth=size[1],
            fusedActivationFunction=ACTIVATIONS[activation],
        )
        out = _windowed((height, width), size, stride, (1, 1), padding)
        source = self.current
        result = self._like((1, *out, channels), name)
        return self.operator("AVERAGE_POOL_2D", [source], [result], options)

    def add(
        self,
        other: int,
        *,
        activation: str = "NONE",
        scale: float | None = None,
        zero_point: int = 0,
        name: str | None = None,
    ) -> ModelBuilder:
        """The newest tensor plus the tensor ``other``."""
        scale = 1.4 * max(self.scale(), self.scale(other)) if scale is None else scale
        result = self.tensor(self.shape(), scale=scale, zero_point=zero_point, name=name)
        options = schema.AddOptionsT(fusedActivationFunction=ACTIVATIONS[activation])
        return self.operator("ADD", [self.current, other], [result], options)

    def reshape(
        self, shape: Sequence[int], *, given: str = "tensor", name: str | None = None
    ) -> ModelBuilder:
        """``shape`` may hold -1; ``given`` says where the file has it: tensor, options or nowhere."""
        elements = math.prod(self.shape())
        known = -math.prod(shape)
        resolved = [elements // known if extent == -1 else extent for extent in shape]
        source = self.current
        result = self._like(resolved, name)
        inputs, options = [source], None
        if given == "tensor":
            data = np.array(shape, np.int32)
            inputs.append(self.tensor([len(shape)], dtype="int32", scale=None, data=data))
        elif given == "options":
            options = schema.ReshapeOptionsT(newShape=list(shape))
        return self.operator("RESHAPE", inputs, [result], options)

    def softmax(self, *, beta: float = 1.0, name: str | None = None) -> ModelBuilder:
        result = self.tensor(self.shape(), scale=1 / 256, zero_point=-128, name=name)
        return self.operator("SOFTMAX", [self.current], [result], schema.SoftmaxOptionsT(beta=beta))

    # The file

    def build(self) -> bytes:
        """The file's bytes. May be called again after a change."""
        self.model.subgraphs = [
            schema.SubGraphT(
                tensors=self.tensors,
                inputs=self.inputs,
                outputs=self.outputs or [self.current],
                operators=self.operators,
                name="main",
            ),
            *self.model.subgraphs[1:],
        ]
        return pack(self.model)

    def _weights(self, shape: Sequence[int]) -> Array:
        return self.rng.integers(-127, 128, tuple(shape)).astype(np.int8)

    def _like(self, shape: Sequence[int], name: str | None) -> int:
        """A tensor with the newest one's type and quantization."""
        index = self.tensor(shape, name=name)
        self.tensors[index].type = self.tensors[self.current].type
        self.tensors[index].quantization = self.tensors[self.current].quantization
        return index

    def _dot(
        self,
        op: str,
        weights: Array,
        axis: int,
        out: Sequence[int],
        options: Any,
        bias: bool,
        per_channel: bool,
        scale: float | None,
        zero_point: int,
        weight_scale: float,
        name: str | None,
    ) -> ModelBuilder:
        channels = weights.shape[axis]
        terms = weights.size // channels
        spread = np.asarray(self.rng.uniform(0.5, 1.0, size=channels) if per_channel else 1.0).reshape(-1)
        scales = [float(s) for s in weight_scale * spread]
        source = self.current
        kernel = self.tensor(weights.shape, scale=scales, axis=axis, data=weights)
        inputs = [source, kernel]
        deviation = 74.0 * 74.0 * math.sqrt(terms)
        if bias:
            data = np.asarray(self.rng.normal(0.0, deviation / 2, size=channels)).astype(np.int32)
            inputs.append(
                self.tensor([channels], dtype="int32", scale=[s * self.scale() for s in scales], data=data)
            )
        if scale is None:
            # Two thirds of the outputs lie within half of the range.
            scale = self.scale() * weight_scale * deviation / 64.0
        result = self.tensor(out, scale=scale, zero_point=zero_point, name=name)
        return self.operator(op, inputs, [result], options)


def _windowed(image: Pair, size: Pair, stride: Pair, dilation: Pair, padding: str) -> Pair:
    def one(length: int, size: int, stride: int, dilation: int) -> int:
        if padding == "SAME":
            return -(-length // stride)
        return (length - (size - 1) * dilation - 1) // stride + 1

    return one(image[0], size[0], stride[0], dilation[0]), one(image[1], size[1], stride[1], dilation[1])


def pack(model: Any) -> bytes:
    """The bytes of a ModelT."""
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), b"TFL3")
    return bytes(builder.Output())
