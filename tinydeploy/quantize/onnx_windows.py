"""Convolutions, pools and dense layers as ONNX nodes: channels first, clamps as nodes behind."""

from __future__ import annotations

import math

import numpy as np

from tinydeploy.ir import Node
from tinydeploy.ops.average_pool_2d import AveragePool2D
from tinydeploy.ops.conv_2d import Conv2D
from tinydeploy.ops.depthwise_conv_2d import DepthwiseConv2D
from tinydeploy.ops.fully_connected import FullyConnected
from tinydeploy.ops.grouped_conv_2d import GroupedConv2D
from tinydeploy.ops.max_pool_2d import MaxPool2D
from tinydeploy.ops.quantized import Activation
from tinydeploy.ops.transpose_conv import TransposeConv
from tinydeploy.quantize.onnx_values import TO_NCHW, Order, Values, same

Convolution = Conv2D | DepthwiseConv2D | GroupedConv2D


def clamped(values: Values, node: Node, order: Order, activation: Activation) -> tuple[str, list[str]]:
    """The name that the operator's own node writes, after which the clamp follows.

    The clamp's node is added by ``finish``; the second result is what to hand it.
    """
    name = values.define(node.outputs[0], order)
    if activation is Activation.NONE:
        return name, []
    return values.unique(f"{name}_sum"), [name]


def finish(values: Values, inner: str, clamp: list[str], activation: Activation) -> None:
    """Add the clamp behind an operator."""
    if not clamp:
        return
    low, high = activation.bounds
    if not math.isfinite(high):
        values.add("Relu", [inner], clamp)
        return
    bounds = [
        values.literal(f"{clamp[0]}_{side}", np.array(b, np.float32))
        for side, b in (("low", low), ("high", high))
    ]
    values.add("Clip", [inner, *bounds], clamp)


def operand(node: Node, index: int) -> int:
    """An input that must be there."""
    value = node.inputs[index]
    if value is None:
        raise ValueError(f"{node.name!r}: input {index} is absent")
    return value


def bias_of(values: Values, node: Node) -> list[str]:
    """The bias's name, if there is one."""
    value = node.inputs[2] if len(node.inputs) > 2 else None
    return [] if value is None else [values.want(value)]


def _pads(padding: tuple[tuple[int, int], tuple[int, int]]) -> list[int]:
    (top, bottom), (left, right) = padding
    return [top, left, bottom, right]


def convolution(values: Values, node: Node) -> None:
    attrs = node.attrs
    assert isinstance(attrs, Convolution)
    data, weights = operand(node, 0), operand(node, 1)
    depth = values.graph.type(data).shape[3]
    shape = values.graph.type(weights).shape
    depthwise = isinstance(attrs, DepthwiseConv2D)
    inner, clamp = clamped(values, node, TO_NCHW, attrs.activation)
    values.add(
        "Conv",
        [
            values.want(data, TO_NCHW),
            values.want(weights, (3, 0, 1, 2) if depthwise else (0, 3, 1, 2)),
            *bias_of(values, node),
        ],
        [inner],
        kernel_shape=list(shape[1:3]),
        strides=list(attrs.stride),
        dilations=list(attrs.dilation),
        pads=_pads(attrs.padding),
        group=depth if depthwise else depth // shape[3],
    )
    finish(values, inner, clamp, attrs.activation)


def transpose_conv(values: Values, node: Node) -> None:
    attrs = node.attrs
    assert isinstance(attrs, TransposeConv)
    data, weights = operand(node, 0), operand(node, 1)
    inner, clamp = clamped(values, node, TO_NCHW, attrs.activation)
    image, kernel = values.graph.type(data).shape, values.graph.type(weights).shape
    after, extra = [], []
    for axis in (0, 1):
        extent = (
            (image[axis + 1] - 1) * attrs.stride[axis] + (kernel[axis + 1] - 1) * attrs.dilation[axis] + 1
        )
        cut = extent - attrs.before[axis] - attrs.size[axis]
        after.append(max(cut, 0))
        extra.append(max(-cut, 0))
    values.add(
        "ConvTranspose",
        [
            values.want(data, TO_NCHW),
            values.want(weights, (3, 0, 1, 2)),
            *bias_of(values, node),
        ],
        [inner],
        kernel_shape=list(kernel[1:3]),
        strides=list(attrs.stride),
        dilations=list(attrs.dilation),
        pads=[*attrs.before, *after],
        output_padding=extra,
        group=attrs.groups,
    )
    finish(values, inner, clamp, attrs.activation)


def pool(values: Values, node: Node) -> None:
    attrs = node.attrs
    assert isinstance(attrs, AveragePool2D | MaxPool2D)
    inner, clamp = clamped(values, node, TO_NCHW, attrs.activation)
    (top, bottom), (left, right) = attrs.padding
    average = isinstance(attrs, AveragePool2D)
    extra = {"count_include_pad": int(attrs.count_include_pad)} if isinstance(attrs, AveragePool2D) else {}
    values.add(
        "AveragePool" if average else "MaxPool",
        [values.want(operand(node, 0), TO_NCHW)],
        [inner],
        kernel_shape=list(attrs.size),
        strides=list(attrs.stride),
        pads=[top, left, bottom, right],
        **({} if attrs.dilation == (1, 1) else {"dilations": list(attrs.dilation)}),
        **({} if attrs.beyond == (0, 0) else {"ceil_mode": 1}),
        **extra,
    )
    finish(values, inner, clamp, attrs.activation)


def dense(values: Values, node: Node) -> None:
    attrs = node.attrs
    assert isinstance(attrs, FullyConnected)
    data = operand(node, 0)
    rank = values.rank(node.outputs[0])
    if values.rank(data) != 2 or rank != 2:
        raise ValueError(f"{node.name!r}: a dense layer of rank {rank} is not written")
    inner, clamp = clamped(values, node, same(2), attrs.activation)
    inputs = [values.want(data), values.want(operand(node, 1)), *bias_of(values, node)]
    values.add("Gemm", inputs, [inner], transB=1)
    finish(values, inner, clamp, attrs.activation)
