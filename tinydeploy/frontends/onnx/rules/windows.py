"""Convolutions: Conv, ConvTranspose and what lowers to them."""

from __future__ import annotations

import math

import numpy as np

from tinydeploy.frontends.onnx.builder import Ref
from tinydeploy.frontends.onnx.context import Context, Rule
from tinydeploy.frontends.onnx.rules.images import (
    Frame,
    auto_pad,
    channels_first,
    channels_last,
    dimensions_of,
    frame,
    given_pads,
    pair,
    per_dimension,
    split,
    with_height,
)
from tinydeploy.ir import Attrs
from tinydeploy.ops.conv_2d import Conv2D
from tinydeploy.ops.conv_3d import Conv3D
from tinydeploy.ops.depthwise_conv_2d import DepthwiseConv2D
from tinydeploy.ops.grouped_conv_2d import GroupedConv2D
from tinydeploy.ops.transpose_conv import TransposeConv
from tinydeploy.ops.transpose_conv_3d import TransposeConv3D


def conv_weights(context: Context, weights: Ref, *, depthwise: bool) -> Ref:
    """[O, I, ...] as [O, ..., I], or as [1, ..., O] where each channel is on its own."""
    spatial = range(2, weights.rank)
    order = (1, *spatial, 0) if depthwise else (0, *spatial, 1)
    turned = context.transpose(weights, order)
    if weights.rank == 3:
        return context.reshape(turned, (turned.shape[0], 1, *turned.shape[1:]))
    return turned


def conv_attrs(context: Context, data: Ref, weights: Ref) -> tuple[Attrs, bool]:
    """The operator for data [N, C, ...] and weights [O, I, ...], and whether it is depthwise."""
    count = dimensions_of(context, data)
    if weights.rank != data.rank:
        raise context.fault(f"weights {list(weights.shape)} for data {list(data.shape)}")
    size = (
        per_dimension(context, "kernel_shape", count, 1) if context.has("kernel_shape") else weights.shape[2:]
    )
    if size != weights.shape[2:]:
        raise context.fault(f"kernel_shape {list(size)}, but weights {list(weights.shape)}")
    groups, channels = context.int_("group", 1), data.shape[1]
    if groups < 1 or channels != weights.shape[1] * groups or weights.shape[0] % groups:
        raise context.fault(f"weights {list(weights.shape)} in {groups} groups for {channels} channels")
    place = frame(context, data.shape[2:], size)
    if count == 3:
        return _conv_3d(place), False
    place = place.raised()
    top, left = place.padding
    kind = DepthwiseConv2D if groups == channels and groups > 1 else (GroupedConv2D if groups > 1 else Conv2D)
    attrs = kind(pair(context, place.stride), pair(context, place.dilation), (top, left))
    return attrs, kind is DepthwiseConv2D


def _conv_3d(place: Frame) -> Conv3D:
    (a, b, c), (d, e, f), (front, top, left) = place.stride, place.dilation, place.padding
    return Conv3D((a, b, c), (d, e, f), (front, top, left))


def _conv(context: Context) -> None:
    data, weights, bias = context.input(0), context.input(1), context.optional(2)
    attrs, depthwise = conv_attrs(context, data, weights)
    turned = conv_weights(context, weights, depthwise=depthwise)
    result = context.emit(attrs, channels_last(context, data), turned, bias)
    context.set(channels_first(context, result, data.rank - 2))


def _transposed_weights(context: Context, weights: Ref, groups: int) -> Ref:
    """[C, O / groups, ...] as [O, ..., C / groups]."""
    channels, outputs, *spatial = weights.shape
    if groups == 1:
        turned = context.transpose(weights, (1, *range(2, weights.rank), 0))
    else:
        apart = context.reshape(weights, (groups, channels // groups, outputs, *spatial))
        turned = context.transpose(apart, (0, 2, *range(3, apart.rank), 1))
        turned = context.reshape(turned, (groups * outputs, *spatial, channels // groups))
    if weights.rank == 3:
        return context.reshape(turned, (turned.shape[0], 1, *turned.shape[1:]))
    return turned


def transposed_attrs(
    size: tuple[int, ...],
    stride: tuple[int, ...],
    before: tuple[int, ...],
    dilation: tuple[int, ...],
    groups: int,
) -> Attrs:
    """TransposeConv for 1 or 2 dimensions, TransposeConv3D for 3."""
    if len(size) == 3:
        (a, b, c), (d, e, f), (g, h, i), (j, k, m) = size, stride, before, dilation
        return TransposeConv3D((a, b, c), (d, e, f), (g, h, i), dilation=(j, k, m), groups=groups)
    (a, b), (d, e) = with_height(size, 1), with_height(stride, 1)
    (g, h), (j, k) = with_height(before, 0), with_height(dilation, 1)
    return TransposeConv((a, b), (d, e), (g, h), dilation=(j, k), groups=groups)


def _conv_transpose(context: Context) -> None:
    data, weights, bias = context.input(0), context.input(1), context.optional(2)
    count = dimensions_of(context, data)
    groups = context.int_("group", 1)
    if weights.rank != data.rank or groups < 1 or weights.shape[0] != data.shape[1] or data.shape[1] % groups:
        raise context.fault(f"weights {list(weights.shape)} in {groups} groups for data {list(data.shape)}")
    stride = per_dimension(context, "strides", count, 1)
    dilation = per_dimension(context, "dilations", count, 1)
    size, before = _transposed_size(context, data.shape[2:], weights.shape[2:], stride, dilation)
    attrs = transposed_attrs(size, stride, before, dilation, groups)
    turned = _transposed_weights(context, weights, groups)
    result = context.emit(attrs, channels_last(context, data), turned, bias)
    context.set(channels_first(context, result, count))


def _transposed_size(
    context: Context,
    extents: tuple[int, ...],
    taps: tuple[int, ...],
    stride: tuple[int, ...],
    dilation: tuple[int, ...],
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The extents of the result, and how much of the full sum is cut before them."""
    count, mode = len(extents), auto_pad(context)
    extra = context.ints("output_padding", (0,) * count)
    wanted = context.ints("output_shape") if context.has("output_shape") else None
    if len(extra) != count or min(extra) < 0 or (wanted is not None and len(wanted) < count):
        raise context.fault(f"output_padding {list(extra)} or output_shape for {count} dimensions")
    full = tuple(
        (length - 1) * step + more + (size - 1) * apart + 1
        for length, step, more, size, apart in zip(extents, stride, extra, taps, dilation, strict=True)
    )
    if wanted is None and mode in ("SAME_UPPER", "SAME_LOWER"):
        wanted = tuple(length * step for length, step in zip(extents, stride, strict=True))
    if wanted is not None:
        wanted = wanted[-count:]
        # The odd element of the padding lies after the data only with SAME_UPPER.
        lower = "SAME_UPPER" if mode == "SAME_UPPER" else "SAME_LOWER"
        cuts = (split(max(a - b, 0), lower)[0] for a, b in zip(full, wanted, strict=True))
        return wanted, tuple(cuts)
    pads = given_pads(context, count) if mode == "NOTSET" else ((0, 0),) * count
    size = tuple(length - sum(pair_) for length, pair_ in zip(full, pads, strict=True))
    if min(size) < 1:
        raise context.fault(f"its result would have the extents {list(size)}")
    return size, tuple(before for before, _ in pads)


def _col2im(context: Context) -> None:
    """Blocks added at their places: a transposed convolution whose weights are ones."""
    data = context.input(0)
    image = tuple(int(n) for n in context.need_constant(1, "the image's shape").reshape(-1))
    block = tuple(int(n) for n in context.need_constant(2, "the block's shape").reshape(-1))
    count, taps = len(image), math.prod(block)
    if count > 3:
        context.refuse(f"{count} spatial dimensions", "use 1, 2 or 3")
    if data.rank != 3 or len(block) != count or min(*image, *block) < 1 or data.shape[1] % taps:
        raise context.fault(f"data {list(data.shape)} for images {list(image)} of blocks {list(block)}")
    stride = per_dimension(context, "strides", count, 1)
    dilation = per_dimension(context, "dilations", count, 1)
    pads = given_pads(context, count)
    grid = tuple(
        (length + sum(pair_) - (size - 1) * apart - 1) // step + 1
        for length, pair_, size, apart, step in zip(image, pads, block, dilation, stride, strict=True)
    )
    if math.prod(grid) != data.shape[2] or min(grid) < 1:
        raise context.fault(f"{data.shape[2]} blocks in a grid of {list(grid)}")
    channels = data.shape[1] // taps
    ones = np.tile(np.eye(taps, dtype=np.float32), (channels, 1)).reshape(
        channels, *with_height(block, 1), taps
    )
    attrs = transposed_attrs(image, stride, tuple(before for before, _ in pads), dilation, channels)
    blocks = channels_last(context, context.reshape(data, (*data.shape[:2], *grid)))
    result = context.emit(attrs, blocks, context.literal(ones, "ones"))
    context.set(channels_first(context, result, count))


RULES: dict[str, Rule] = {
    "Col2Im": _col2im,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
}
