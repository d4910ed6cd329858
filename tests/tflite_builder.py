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
    "int4": schema.TensorType.INT4,
    "int8": schema.TensorType.INT8,
    "uint8": schema.TensorType.UINT8,
    "int16": schema.TensorType.INT16,
    "int32": schema.TensorType.INT32,
    "int64": schema.TensorType.INT64,
    "bool": schema.TensorType.BOOL,
}


class ModelBuilder:
    """One model in the making; methods return the builder so that calls chain.

    ``dtype`` is the element type of activations, ``weights`` that of weights and ``bias`` that of biases;
    ``weight_zero`` is the zero point of weights.
    """

    def __init__(
        self,
        seed: int = 0,
        *,
        dtype: str = "int8",
        weights: str = "int8",
        bias: str = "int32",
        weight_zero: int = 0,
    ) -> None:
        self.rng = np.random.default_rng(seed)
        self.dtype = dtype
        self.weights = weights
        self.bias = bias
        self.weight_zero = weight_zero
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
        dtype: str | None = None,
        scale: float | Sequence[float] | None = 0.05,
        zero_point: int = 0,
        axis: int = 0,
        name: str | bytes | None = None,
        data: Array | None = None,
        signature: Sequence[int] | None = None,
    ) -> int:
        """Add a tensor, constant where ``data`` is given; the result is its index."""
        dtype = self.dtype if dtype is None else dtype
        tensor = schema.TensorT(shape=list(shape), type=TYPES[dtype])
        tensor.name = f"tensor_{len(self.tensors)}" if name is None else name
        if signature is not None:
            tensor.shapeSignature = list(signature)
        if data is not None and dtype == "int4":
            data = _packed(data)
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

    @property
    def steps(self) -> Pair:
        """The steps of an activation: the first, and one past the last."""
        limits = np.iinfo(self.dtype)
        return int(limits.min), int(limits.max) + 1

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
        groups: int = 1,
        name: str | None = None,
    ) -> ModelBuilder:
        _, height, width, channels = self.shape()
        if weights is None:
            weights = self._weights((filters, *kernel, channels // groups))
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

    def average_pool(self, size: Pair, **options: Any) -> ModelBuilder:
        """Options as ``pool``."""
        return self.pool("AVERAGE_POOL_2D", size, **options)

    def pool(
        self,
        op: str,
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
        return self.operator(op, [source], [result], options)

    def add(self, other: int, **options: Any) -> ModelBuilder:
        """The newest tensor plus the tensor ``other``; options as ``binary``."""
        return self.binary("ADD", other, **options)

    def binary(
        self,
        op: str,
        other: int,
        *,
        activation: str = "NONE",
        scale: float | None = None,
        zero_point: int = 0,
        name: str | None = None,
    ) -> ModelBuilder:
        """The newest tensor and the tensor ``other``; shapes broadcast."""
        scale = 1.4 * max(self.scale(), self.scale(other)) if scale is None else scale
        shape = np.broadcast_shapes(self.shape(), self.shape(other))
        result = self.tensor(shape, scale=scale, zero_point=zero_point, name=name)
        options = None
        if op in ("ADD", "SUB", "MUL"):
            options = getattr(schema, f"{op.title()}OptionsT")(
                fusedActivationFunction=ACTIVATIONS[activation]
            )
        return self.operator(op, [self.current, other], [result], options)

    def constant(self, shape: Sequence[int], **options: Any) -> int:
        """A constant tensor of drawn steps; options as ``tensor``."""
        drawn = self.rng.integers(*self.steps, tuple(shape)).astype(self.dtype)
        return self.tensor(shape, data=drawn, **options)

    def numbers(self, *values: int, shape: Sequence[int] | None = None) -> int:
        """A constant int32 tensor: a list, or of another shape."""
        data = np.array(values, np.int32)
        return self.tensor([len(values)] if shape is None else shape, dtype="int32", scale=None, data=data)

    def unary(self, op: str, options: Any = None, **tensor: Any) -> ModelBuilder:
        """A function of one element; ``tensor`` describes the output, by default as the input."""
        source = self.current
        result = self.tensor(self.shape(), **tensor) if tensor else self._like(self.shape(), None)
        return self.operator(op, [source], [result], options)

    def reduce(self, op: str, axes: Sequence[int], *, keep_dims: bool = False, **tensor: Any) -> ModelBuilder:
        """MEAN, SUM, REDUCE_MAX, ...; ``tensor`` describes the output, by default as the input."""
        source, places = self.current, {axis % len(self.shape()) for axis in axes}
        shape = [1 if axis in places else extent for axis, extent in enumerate(self.shape())]
        if not keep_dims:
            shape = [extent for axis, extent in enumerate(self.shape()) if axis not in places]
        axis_list = self.numbers(*axes)
        result = self.tensor(shape, **tensor) if tensor else self._like(shape, None, source)
        options = schema.ReducerOptionsT(keepDims=keep_dims)
        return self.operator(op, [source, axis_list], [result], options)

    def index(self, op: str, axis: int) -> ModelBuilder:
        """ARG_MAX or ARG_MIN, int32."""
        source, shape = self.current, list(self.shape())
        del shape[axis]
        axis_list = self.numbers(axis)
        result = self.tensor(shape, dtype="int32", scale=None)
        kind = schema.ArgMaxOptionsT if op == "ARG_MAX" else schema.ArgMinOptionsT
        options = kind(outputType=schema.TensorType.INT32)
        return self.operator(op, [source, axis_list], [result], options)

    def move(self, op: str, shape: Sequence[int], *lists: npt.ArrayLike, options: Any = None) -> ModelBuilder:
        """An operator that moves elements: its output's shape, and its constant int32 operands."""
        source = self.current
        operands = [source]
        for numbers in lists:
            array = np.array(numbers, np.int32)
            operands.append(self.numbers(*array.reshape(-1).tolist(), shape=array.shape))
        result = self._like(shape, None, source)
        return self.operator(op, operands, [result], options)

    def concatenate(
        self, others: Sequence[int], axis: int, *, scale: float | None = None, zero_point: int = 0
    ) -> ModelBuilder:
        """The newest tensor and others after it."""
        operands = [self.current, *others]
        shape = list(self.shape())
        shape[axis] = sum(self.shape(operand)[axis] for operand in operands)
        result = (
            self._like(shape, None)
            if scale is None
            else self.tensor(shape, scale=scale, zero_point=zero_point)
        )
        return self.operator("CONCATENATION", operands, [result], schema.ConcatenationOptionsT(axis=axis))

    def split(self, axis: int, sizes: Sequence[int], *, op: str = "SPLIT_V") -> ModelBuilder:
        """Outputs one after the other; the newest tensor is the first of them."""
        source = self.current
        results = []
        for size in sizes:
            shape = list(self.shape(source))
            shape[axis] = size
            results.append(self._like(shape, None, source))
        if op == "SPLIT":
            operands = [self.numbers(axis, shape=()), source]
            return self.operator(op, operands, results, schema.SplitOptionsT(numSplits=len(sizes)))
        operands = [source, self.numbers(*sizes), self.numbers(axis, shape=())]
        return self.operator(op, operands, results, schema.SplitVOptionsT(numSplits=len(sizes)))

    def transpose_conv(
        self,
        filters: int,
        kernel: Pair,
        *,
        stride: Pair = (1, 1),
        padding: str = "SAME",
        bias: bool = True,
        per_channel: bool = True,
        scale: float | None = None,
        zero_point: int = 0,
        weight_scale: float = 0.01,
    ) -> ModelBuilder:
        _, height, width, channels = self.shape()
        size = (height * stride[0], width * stride[1])
        if padding == "VALID":
            size = ((height - 1) * stride[0] + kernel[0], (width - 1) * stride[1] + kernel[1])
        options = schema.TransposeConvOptionsT(
            padding=PADDINGS[padding], strideH=stride[0], strideW=stride[1]
        )
        shape = (1, *size, filters)
        self._dot(
            "TRANSPOSE_CONV", self._weights((filters, *kernel, channels)), 0, shape, options,
            bias, per_channel, scale, zero_point, weight_scale, None,
        )  # fmt: skip
        data, weights, *rest = self.operators[-1].inputs
        self.operators[-1].inputs = [self.numbers(*shape), weights, data, *rest]
        return self

    def batch_matmul(
        self, other: int, *, adj_x: bool = False, adj_y: bool = False, scale: float, zero_point: int = 0
    ) -> ModelBuilder:
        a, b = self.shape(), self.shape(other)
        leading = np.broadcast_shapes(a[:-2], b[:-2])
        shape = (*leading, a[-1 if adj_x else -2], b[-2 if adj_y else -1])
        result = self.tensor(shape, scale=scale, zero_point=zero_point)
        options = schema.BatchMatMulOptionsT(adjX=adj_x, adjY=adj_y)
        return self.operator("BATCH_MATMUL", [self.current, other], [result], options)

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
        scale, zero_point = (1 / 256, -128) if self.dtype == "int8" else (1 / 32768, 0)
        result = self.tensor(self.shape(), scale=scale, zero_point=zero_point, name=name)
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
        if self.weights == "uint8":
            return self.rng.integers(0, 256, tuple(shape)).astype(np.uint8)
        high = 7 if self.weights == "int4" else 127
        return self.rng.integers(-high, high + 1, tuple(shape)).astype(np.int8)

    def _like(self, shape: Sequence[int], name: str | None, source: int | None = None) -> int:
        """A tensor with the type and quantization of another, by default the newest."""
        like = self.tensors[self.current if source is None else source]
        index = self.tensor(shape, name=name)
        self.tensors[index].type = like.type
        self.tensors[index].quantization = like.quantization
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
        kernel = self.tensor(
            weights.shape,
            dtype=self.weights,
            scale=scales,
            zero_point=self.weight_zero,
            axis=axis,
            data=weights,
        )
        inputs = [source, kernel]
        real = self.dtype == "float32"
        range_ = 74.0 if real else 74.0 * ((self.steps[1] - self.steps[0]) / 256)
        deviation = range_ * (4.3 if self.weights == "int4" else 74.0) * math.sqrt(terms)
        if bias and real:
            numbers = np.asarray(self.rng.normal(0.0, 1.0, size=channels), np.float32)
            inputs.append(self.tensor([channels], dtype="float32", scale=None, data=numbers))
        elif bias:
            drawn: Array = np.asarray(self.rng.normal(0.0, deviation / 2, size=channels))
            data = drawn.astype(self.bias)
            inputs.append(
                self.tensor([channels], dtype=self.bias, scale=[s * self.scale() for s in scales], data=data)
            )
        if scale is None and not real:
            # Two thirds of the outputs lie within half of the range.
            scale = self.scale() * weight_scale * deviation / ((self.steps[1] - self.steps[0]) / 4)
        result = self.tensor(out, scale=scale, zero_point=zero_point, name=name)
        return self.operator(op, inputs, [result], options)


def _packed(steps: Array) -> Array:
    """Two 4-bit steps to a byte, the first in the low half."""
    halves = np.append(steps.reshape(-1), np.zeros(steps.size % 2, steps.dtype)).astype(np.uint8) & 15
    result: Array = halves[::2] | halves[1::2] << 4
    return result


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
