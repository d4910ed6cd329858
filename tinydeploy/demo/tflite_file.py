"""Writes an int8 graph of the demo's few operators as a ``.tflite`` file, with ai-edge-litert's schema."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import flatbuffers  # type: ignore[import-untyped]
import numpy as np
from ai_edge_litert import schema_py_generated as schema  # type: ignore[import-untyped]

from tinydeploy.ir import Array, DType, Graph, Node, Quant, Value, blob_of
from tinydeploy.ops.average_pool_2d import AveragePool2D
from tinydeploy.ops.base import site_of
from tinydeploy.ops.conv_2d import Conv2D
from tinydeploy.ops.depthwise_conv_2d import DepthwiseConv2D
from tinydeploy.ops.depthwise_conv_2d import multiplier_of as depth_multiplier_of
from tinydeploy.ops.fully_connected import FullyConnected
from tinydeploy.ops.quantized import Activation
from tinydeploy.ops.reshape import Reshape
from tinydeploy.ops.softmax import Softmax
from tinydeploy.ops.window import Pair, same_padding

SCHEMA_VERSION = 3
FILE_IDENTIFIER = b"TFL3"
BUFFER_ALIGNMENT = 16

_TYPES = {DType.INT8: schema.TensorType.INT8, DType.INT32: schema.TensorType.INT32}
_ACTIVATIONS = {
    Activation.NONE: schema.ActivationFunctionType.NONE,
    Activation.RELU: schema.ActivationFunctionType.RELU,
}
# Operator versions that int8 with per-channel scales needs (TFLite's op_version.cc).
_VERSIONS = {
    schema.BuiltinOperator.CONV_2D: 3,
    schema.BuiltinOperator.DEPTHWISE_CONV_2D: 3,
    schema.BuiltinOperator.AVERAGE_POOL_2D: 2,
    schema.BuiltinOperator.RESHAPE: 1,
    schema.BuiltinOperator.FULLY_CONNECTED: 4,
    schema.BuiltinOperator.SOFTMAX: 2,
}


class _AlignedBuffer(schema.BufferT):  # type: ignore[misc]
    """A buffer whose data begins at a multiple of 16 bytes, as the schema demands (``force_align``)."""

    def Pack(self, builder: Any) -> int:  # noqa: N802 - the generated code calls this name
        data = None
        if self.data is not None:
            builder.StartVector(1, len(self.data), BUFFER_ALIGNMENT)
            builder.head = builder.Head() - len(self.data)
            builder.Bytes[builder.Head() : builder.Head() + len(self.data)] = self.data
            data = builder.EndVector()
        schema.BufferStart(builder)
        if data is not None:
            schema.BufferAddData(builder, data)
        return int(schema.BufferEnd(builder))


@dataclass(slots=True)
class _Tables:
    """The flat lists of a model file, in the order of their indices."""

    tensors: list[Any] = field(default_factory=list)
    buffers: list[Any] = field(default_factory=lambda: [_AlignedBuffer()])
    codes: list[Any] = field(default_factory=list)
    operators: list[Any] = field(default_factory=list)

    def tensor(
        self, name: str, dtype: DType, shape: tuple[int, ...], quant: Quant | None, data: Array | None
    ) -> int:
        """Add a tensor; constants get a buffer, all others share the empty buffer 0."""
        tensor = schema.TensorT()
        tensor.name, tensor.type, tensor.shape, tensor.hasRank = name, _TYPES[dtype], list(shape), True
        if quant is not None:
            tensor.quantization = _quantization(quant)
        if data is not None:
            tensor.buffer = len(self.buffers)
            self.buffers.append(_AlignedBuffer(data=blob_of(data)))
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def code(self, builtin: int) -> int:
        """Index of an operator's code, added on its first use."""
        known = [code.builtinCode for code in self.codes]
        if builtin in known:
            return known.index(builtin)
        code = schema.OperatorCodeT()
        code.builtinCode = code.deprecatedBuiltinCode = builtin
        code.version = _VERSIONS[builtin]
        self.codes.append(code)
        return len(self.codes) - 1


def to_tflite(graph: Graph, description: str) -> bytes:
    """The graph as a model file; tensor ids are the value ids, then come the shapes of reshapes.

    Raises ValueError where the graph holds something that the demo does not need: another operator, element
    type or clamp, or padding that is neither SAME nor none.
    """
    tables = _Tables()
    for index, value in enumerate(graph.values):
        _add_value(tables, graph, index, value)
    for index, node in enumerate(graph.nodes):
        _add_node(tables, graph, index, node)
    subgraph = schema.SubGraphT()
    subgraph.name = graph.name
    subgraph.tensors, subgraph.operators = tables.tensors, tables.operators
    subgraph.inputs, subgraph.outputs = list(graph.inputs), list(graph.outputs)
    model = schema.ModelT()
    model.version, model.description = SCHEMA_VERSION, description
    model.subgraphs, model.buffers, model.operatorCodes = [subgraph], tables.buffers, tables.codes
    builder = flatbuffers.Builder(1 << 14)
    builder.Finish(model.Pack(builder), file_identifier=FILE_IDENTIFIER)
    return bytes(builder.Output())


def _add_value(tables: _Tables, graph: Graph, index: int, value: Value) -> None:
    if value.type.dtype not in _TYPES:
        raise ValueError(f"{value.name!r}: {value.type.dtype.value} is not written")
    data = graph.array(index) if value.is_constant else None
    tables.tensor(value.name, value.type.dtype, value.type.shape, value.type.quant, data)


def _quantization(quant: Quant) -> Any:
    parameters = schema.QuantizationParametersT()
    parameters.scale, parameters.zeroPoint = list(quant.scales), list(quant.zero_points)
    parameters.quantizedDimension = quant.axis or 0
    return parameters


def _add_node(tables: _Tables, graph: Graph, index: int, node: Node) -> None:
    operator = schema.OperatorT()
    operator.inputs = [-1 if value is None else value for value in node.inputs]
    operator.outputs = list(node.outputs)
    builtin, operator.builtinOptionsType, operator.builtinOptions = _options(graph, index, node)
    if isinstance(node.attrs, Reshape):
        shape = np.array(node.attrs.shape, np.int32)
        operator.inputs.append(tables.tensor(f"{node.name}/shape", DType.INT32, shape.shape, None, shape))
    operator.opcodeIndex = tables.code(builtin)
    tables.operators.append(operator)


def _options(graph: Graph, index: int, node: Node) -> tuple[int, int, Any]:
    """(builtin operator, type of its options, options) of a node."""
    builtin, kinds = schema.BuiltinOperator, schema.BuiltinOptions
    options: Any
    match node.attrs:
        case Conv2D() as attrs:
            options = schema.Conv2DOptionsT()
            _set_window(options, graph, node, _kernel(graph, node), attrs)
            options.dilationHFactor, options.dilationWFactor = attrs.dilation
            return builtin.CONV_2D, kinds.Conv2DOptions, options
        case DepthwiseConv2D() as attrs:
            options = schema.DepthwiseConv2DOptionsT()
            _set_window(options, graph, node, _kernel(graph, node), attrs)
            options.dilationHFactor, options.dilationWFactor = attrs.dilation
            options.depthMultiplier = depth_multiplier_of(site_of(graph, index))
            return builtin.DEPTHWISE_CONV_2D, kinds.DepthwiseConv2DOptions, options
        case AveragePool2D() as attrs:
            options = schema.Pool2DOptionsT()
            _set_window(options, graph, node, attrs.size, attrs)
            options.filterHeight, options.filterWidth = attrs.size
            return builtin.AVERAGE_POOL_2D, kinds.Pool2DOptions, options
        case Reshape() as attrs:
            options = schema.ReshapeOptionsT()
            options.newShape = list(attrs.shape)
            return builtin.RESHAPE, kinds.ReshapeOptions, options
        case FullyConnected() as attrs:
            options = schema.FullyConnectedOptionsT()
            options.fusedActivationFunction = _activation(node, attrs.activation)
            options.keepNumDims = attrs.keep_dims
            return builtin.FULLY_CONNECTED, kinds.FullyConnectedOptions, options
        case Softmax() as attrs:
            options = schema.SoftmaxOptionsT()
            options.beta = attrs.beta
            return builtin.SOFTMAX, kinds.SoftmaxOptions, options
    raise ValueError(f"{node.name!r}: {node.op} is not written")


def _input_shape(graph: Graph, node: Node, operand: int) -> tuple[int, ...]:
    value = node.inputs[operand]
    if value is None:
        raise ValueError(f"{node.name!r}: input {operand} is absent")
    return graph.type(value).shape


def _kernel(graph: Graph, node: Node) -> Pair:
    weights = _input_shape(graph, node, 1)
    return weights[1], weights[2]


def _set_window(
    options: Any, graph: Graph, node: Node, size: Pair, attrs: Conv2D | DepthwiseConv2D | AveragePool2D
) -> None:
    """Padding, strides and clamp, which convolution and pooling name alike."""
    _, height, width, _ = _input_shape(graph, node, 0)
    dilation = (1, 1) if isinstance(attrs, AveragePool2D) else attrs.dilation
    same = tuple(
        same_padding(length, taps, stride, step)
        for length, taps, stride, step in zip((height, width), size, attrs.stride, dilation, strict=True)
    )
    if attrs.padding == ((0, 0), (0, 0)):
        options.padding = schema.Padding.VALID
    elif attrs.padding == same:
        options.padding = schema.Padding.SAME
    else:
        raise ValueError(f"{node.name!r}: padding {attrs.padding} is neither SAME nor none")
    options.strideH, options.strideW = attrs.stride
    options.fusedActivationFunction = _activation(node, attrs.activation)


def _activation(node: Node, activation: Activation) -> int:
    if activation not in _ACTIVATIONS:
        raise ValueError(f"{node.name!r}: the clamp {activation.value} is not written")
    return int(_ACTIVATIONS[activation])
