"""Normalizations, softmax and its kin."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from tinydeploy.frontends.onnx.builder import Ref
from tinydeploy.frontends.onnx.context import Context, Rule
from tinydeploy.ir import Array, Attrs
from tinydeploy.ops.add import Add
from tinydeploy.ops.arg_max import ArgMax
from tinydeploy.ops.local_response_norm import LocalResponseNorm
from tinydeploy.ops.log_softmax import LogSoftmax
from tinydeploy.ops.mean import Mean
from tinydeploy.ops.mul import Mul
from tinydeploy.ops.normalization import Norm, Normalization
from tinydeploy.ops.one_hot import OneHot
from tinydeploy.ops.softmax import Softmax
from tinydeploy.ops.sub import Sub
from tinydeploy.ops.unary_function import Unary, UnaryFunction


def axis_of(context: Context, rank: int, default: int) -> int:
    """The attribute ``axis``, counted from 0 on."""
    axis = context.int_("axis", default)
    if not -rank <= axis < rank:
        raise context.fault(f"axis {axis} of {rank} dimensions")
    return axis % rank


def _batch_normalization(context: Context) -> None:
    """A factor and an offset per channel; a pass folds them into a convolution before."""
    if context.int_("training_mode", 0) or context.outputs_wanted > 1:
        context.refuse("it is in training mode", "export the model for inference (model.eval())")
    data = context.input(0)
    if data.rank < 2:
        raise context.fault(f"data of shape {list(data.shape)}; [N, C, ...] is needed")
    parts = [context.constant(index) for index in range(1, 5)]
    shape = (data.shape[1], *(1,) * (data.rank - 2))
    epsilon = np.float64(np.float32(context.float_("epsilon", 1e-5)))
    known = [np.asarray(part, np.float64) for part in parts if part is not None]
    if len(known) == 4 and all(part.shape == (data.shape[1],) for part in known):
        scale, bias, mean, variance = known
        factor = scale / np.sqrt(variance + epsilon)
        offset = bias - mean * factor
        scaled = context.emit(Mul(), data, _floats(context, factor.reshape(shape), "factor"), tag="scaled")
        context.set(context.emit(Add(), scaled, _floats(context, offset.reshape(shape), "offset")))
        return
    scale_, bias_, mean_, variance_ = (context.reshape(context.input(index), shape) for index in range(1, 5))
    shifted = context.emit(Add(), variance_, _floats(context, np.array(epsilon), "epsilon"), tag="shifted")
    root = context.emit(Unary(UnaryFunction.RSQRT), shifted, tag="root")
    factor_ = context.emit(Mul(), scale_, root, tag="factor")
    centred = context.emit(Sub(), data, mean_, tag="centred")
    scaled = context.emit(Mul(), centred, factor_, tag="scaled")
    context.set(context.emit(Add(), scaled, bias_))


def _floats(context: Context, array: Array, tag: str) -> Ref:
    with np.errstate(over="ignore"):
        return context.literal(np.asarray(array, np.float32), tag)


def _layer_normalization(context: Context) -> None:
    data, scale, bias = context.input(0), context.input(1), context.optional(2)
    axis, epsilon = axis_of(context, data.rank, -1), context.float_("epsilon", 1e-5)
    axes = tuple(range(axis, data.rank))
    results = [context.emit(Normalization(axes, Norm.VARIANCE, epsilon), data, scale, bias)]
    if context.outputs_wanted > 1:
        mean = context.emit(Mean(axes, keep_dims=True), data, tag="mean")
        centred = context.emit(Sub(), data, mean, tag="centred")
        square = context.emit(Mul(), centred, centred, tag="square")
        variance = context.emit(Mean(axes, keep_dims=True), square, tag="variance")
        shifted = context.emit(Add(), variance, _floats(context, np.array(epsilon), "epsilon"), tag="shifted")
        results += [mean, context.emit(Unary(UnaryFunction.RSQRT), shifted, tag="inverse")]
    context.set(*results[: context.outputs_wanted])


def _rms_normalization(context: Context) -> None:
    data = context.input(0)
    axes = tuple(range(axis_of(context, data.rank, -1), data.rank))
    attrs = Normalization(axes, Norm.ROOT_MEAN_SQUARE, context.float_("epsilon", 1e-5))
    context.set(context.emit(attrs, data, context.input(1)))


def _spatial(context: Context, data: Ref) -> Ref:
    """[N, C, ...] as [N, ..., C]."""
    if data.rank < 3:
        raise context.fault(f"data of shape {list(data.shape)}; [N, C, ...] is needed")
    return context.transpose(data, (0, *range(2, data.rank), 1))


def _channels(context: Context, data: Ref) -> Ref:
    """[N, ..., C] as [N, C, ...]."""
    return context.transpose(data, (0, data.rank - 1, *range(1, data.rank - 1)))


def _instance_normalization(context: Context) -> None:
    data = _spatial(context, context.input(0))
    attrs = Normalization(tuple(range(1, data.rank - 1)), Norm.VARIANCE, context.float_("epsilon", 1e-5))
    context.set(_channels(context, context.emit(attrs, data, context.input(1), context.input(2))))


def _group_normalization(context: Context) -> None:
    """Scale and bias are per group before opset 21, per channel since."""
    data = _spatial(context, context.input(0))
    channels, groups = data.shape[-1], context.int_("num_groups")
    if groups < 1 or channels % groups:
        raise context.fault(f"{groups} groups of {channels} channels")
    factors = []
    for index in (1, 2):
        ref = context.input(index)
        if ref.type.elements not in (groups, channels):
            raise context.fault(
                f"input {index} of shape {list(ref.shape)} for {groups} groups, {channels} channels"
            )
        factors.append(context.reshape(ref, (groups, ref.type.elements // groups)))
    apart = context.reshape(data, (*data.shape[:-1], groups, channels // groups))
    axes = (*range(1, data.rank - 1), data.rank)
    attrs = Normalization(axes, Norm.VARIANCE, context.float_("epsilon", 1e-5))
    context.set(_channels(context, context.reshape(context.emit(attrs, apart, *factors), data.shape)))


def _lp_normalization(context: Context) -> None:
    data = context.input(0)
    order = context.int_("p", 2)
    if order not in (1, 2):
        raise context.fault(f"p is {order}; 1 or 2 is allowed")
    norm = Norm.L1 if order == 1 else Norm.L2
    context.set(context.emit(Normalization((axis_of(context, data.rank, -1),), norm, 0.0), data))


def _mean_variance_normalization(context: Context) -> None:
    data = context.input(0)
    axes = context.ints("axes", (0, 2, 3))
    if any(not -data.rank <= axis < data.rank for axis in axes):
        raise context.fault(f"axes {list(axes)} of {data.rank} dimensions")
    chosen = tuple(sorted({axis % data.rank for axis in axes}))
    context.set(context.emit(Normalization(chosen, Norm.DEVIATION, 1e-9), data))


def _lrn(context: Context) -> None:
    data = context.input(0)
    if data.rank < 2:
        raise context.fault(f"data of shape {list(data.shape)}; [N, C, ...] is needed")
    size = context.int_("size")
    if size < 1:
        raise context.fault(f"size is {size}; at least 1 is needed")
    attrs = LocalResponseNorm(
        before=(size - 1) // 2,
        after=size // 2,
        alpha=context.float_("alpha", 0.0001) / size,
        beta=context.float_("beta", 0.75),
        bias=context.float_("bias", 1.0),
    )
    last = context.transpose(data, (0, *range(2, data.rank), 1))
    context.set(_channels(context, context.emit(attrs, last)))


def along_axis(context: Context, data: Ref, axis: int, compute: Callable[[Ref], Ref]) -> Ref:
    """``compute``, which works on the last axis, applied to another one."""
    if axis == data.rank - 1:
        return compute(data)
    order = (*(k for k in range(data.rank) if k != axis), axis)
    back = tuple(order.index(k) for k in range(data.rank))
    return context.transpose(compute(context.transpose(data, order)), back)


def _over_axis(context: Context, compute: Callable[[Ref], Ref]) -> None:
    """Softmax and its kin: over one axis since opset 13, over all from an axis on before."""
    data = context.input(0)
    if data.rank == 0:
        raise context.fault("a single number has no axis")
    if context.opset >= 13:
        context.set(along_axis(context, data, axis_of(context, data.rank, -1), compute))
        return
    axis = axis_of(context, data.rank, 1) if data.rank > 1 or context.has("axis") else 0
    flat = context.reshape(data, (math.prod(data.shape[:axis]), math.prod(data.shape[axis:])))
    context.set(context.reshape(compute(flat), data.shape))


def _emitted(attrs: Attrs) -> Rule:
    return lambda context: _over_axis(context, lambda ref: context.emit(attrs, ref))


def _hardmax(context: Context) -> None:
    def compute(ref: Ref) -> Ref:
        index = context.emit(ArgMax((ref.rank - 1,)), ref, tag="index")
        values = context.literal(np.array([0, 1], ref.dtype.numpy), "values")
        return context.emit(OneHot(ref.rank - 1, ref.shape[-1]), index, values)

    _over_axis(context, compute)


RULES: dict[str, Rule] = {
    "BatchNormalization": _batch_normalization,
    "GroupNormalization": _group_normalization,
    "Hardmax": _hardmax,
    "InstanceNormalization": _instance_normalization,
    "LRN": _lrn,
    "LayerNormalization": _layer_normalization,
    "LogSoftmax": _emitted(LogSoftmax()),
    "LpNormalization": _lp_normalization,
    "MeanVarianceNormalization": _mean_variance_normalization,
    "RMSNormalization": _rms_normalization,
    "Softmax": _emitted(Softmax()),
}
