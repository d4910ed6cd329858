"""QuantizeLinear and DequantizeLinear, and what they mean where their scales are computed at run time.

Integers are plain numbers in ONNX: they become steps with a scale just before Dequantize, and plain again
behind Quantize. The pass ``integerize`` takes these Reinterpret nodes away.
"""

from __future__ import annotations

import numpy as np

from tinydeploy.fixed_point import Rounding
from tinydeploy.frontends.onnx.builder import Ref
from tinydeploy.frontends.onnx.context import Context, Rule
from tinydeploy.frontends.onnx.types import DTYPES
from tinydeploy.ir import Array, DType, Quant
from tinydeploy.ops.add import Add
from tinydeploy.ops.binary_function import Binary, BinaryFunction
from tinydeploy.ops.cast import Cast
from tinydeploy.ops.clip import Clip
from tinydeploy.ops.dequantize import Dequantize
from tinydeploy.ops.expand import Expand
from tinydeploy.ops.mul import Mul
from tinydeploy.ops.quantize import STEPS, Quantize
from tinydeploy.ops.reinterpret import Reinterpret
from tinydeploy.ops.sub import Sub
from tinydeploy.ops.unary_function import Unary, UnaryFunction

_STORED = (*STEPS, DType.INT32, DType.INT4)


def quant_of(
    context: Context, scale: Array, zero_point: Array | None, shape: tuple[int, ...], axis: int
) -> Quant:
    """The quantization of a tensor: one scale, or one per index of an axis."""
    scales = tuple(float(number) for number in scale.reshape(-1))
    points = (0,) * len(scales)
    if zero_point is not None:
        points = tuple(int(number) for number in zero_point.reshape(-1))
    if len(points) != len(scales):
        raise context.fault(f"{len(scales)} scales, but {len(points)} zero points")
    if not all(np.isfinite(scales)) or min(scales, default=0.0) <= 0:
        raise context.fault("a scale is not a positive number")
    if len(scales) == 1:
        return Quant(scales, points)
    if not -len(shape) <= axis < len(shape):
        raise context.fault(f"axis {axis} of {list(shape)}")
    axis %= len(shape)
    if scale.ndim != 1 or len(scales) != shape[axis]:
        raise context.fault(f"{len(scales)} scales for axis {axis} of {list(shape)}")
    return Quant(scales, points, axis)


def dequantized(context: Context, ref: Ref, quant: Quant, tag: str = "") -> Ref:
    """Plain integers as the real numbers that they stand for."""
    if ref.dtype not in _STORED:
        context.refuse(f"it dequantizes {ref.dtype.value}", "use int8, uint8, int16, uint16, int32 or int4")
    if context.array(ref) is not None:
        steps = context.tagged(ref, quant)
    else:
        steps = context.emit(Reinterpret(), ref, like=quant, tag=f"{tag}steps")
    return context.emit(Dequantize(), steps, tag=tag)


def quantized(context: Context, ref: Ref, dtype: DType, quant: Quant) -> Ref:
    """Real numbers as plain integers."""
    if dtype not in STEPS:
        context.refuse(f"it quantizes to {dtype.value}", "use int8, uint8, int16 or uint16")
    steps = context.emit(Quantize(Rounding.HALF_EVEN, dtype), ref, like=quant)
    return context.emit(Reinterpret(), steps)


def _axis(context: Context) -> int:
    return context.int_("axis", 1)


def _is_constant(context: Context, index: int) -> bool:
    return context.optional(index) is None or context.constant(index) is not None


def numbers_of(context: Context, data: int, scale: int, axis: int, tag: str = "") -> Ref:
    """The real numbers of input ``data``, whose scale and zero point are the inputs from ``scale`` on."""
    ref = context.input(data)
    if not (_is_constant(context, scale) and _is_constant(context, scale + 1)):
        return _computed_numbers(context, ref, scale, axis, tag)
    scales = context.need_constant(scale, "the scale")
    zero_point = context.constant(scale + 1)
    return dequantized(context, ref, quant_of(context, scales, zero_point, ref.shape, axis), tag)


def steps_of_inputs(context: Context, ref: Ref, scale: int, axis: int, dtype: DType) -> Ref:
    """Real numbers as integers of the scale and zero point that are the inputs from ``scale`` on."""
    if _is_constant(context, scale) and _is_constant(context, scale + 1):
        scales = context.need_constant(scale, "the scale")
        if scales.ndim < 2:
            quant = quant_of(context, scales, context.constant(scale + 1), ref.shape, axis)
            return quantized(context, ref, dtype, quant)
    zero_point = context.optional(scale + 1)
    point = None if zero_point is None else _spread(context, zero_point, ref, axis)
    return steps_of(context, ref, _spread(context, context.input(scale), ref, axis), point, dtype)


def _dequantize_linear(context: Context) -> None:
    data, scale = context.input(0), context.constant(1)
    if scale is not None and scale.ndim > 1 and context.array(data) is not None and _is_constant(context, 2):
        context.set(_dequantized_blocks(context, data, scale, context.constant(2)))
    else:
        context.set(numbers_of(context, 0, 1, _axis(context)))


def _dequantized_blocks(context: Context, data: Ref, scale: Array, zero_point: Array | None) -> Ref:
    """Constant weights with a scale per block of an axis: as rows of one scale each, brought into place."""
    axis, size = _axis(context) % max(data.rank, 1), context.int_("block_size", 0)
    if scale.ndim != data.rank or size < 1 or -(-data.shape[axis] // size) != scale.shape[axis]:
        raise context.fault(f"scales {list(scale.shape)} in blocks of {size} for {list(data.shape)}")
    if data.shape[axis] % size:
        context.refuse(
            "its last block is shorter than the others", "choose a block size that divides the axis"
        )
    blocks = data.shape[axis] // size
    split = (*data.shape[:axis], blocks, size, *data.shape[axis + 1 :])
    order = (*(place for place in range(len(split)) if place != axis + 1), axis + 1)
    turned = context.transpose(context.reshape(data, split), order)
    points = None if zero_point is None else zero_point.reshape(-1)
    quant = quant_of(context, scale.reshape(-1), points, (scale.size, size), 0)
    rows = context.tagged(context.reshape(turned, (scale.size, size)), quant)
    numbers = context.reshape(context.emit(Dequantize(), rows, tag="numbers"), turned.shape)
    back = tuple(order.index(place) for place in range(len(split)))
    return context.reshape(context.transpose(numbers, back), data.shape)


def _quantize_linear(context: Context) -> None:
    data = context.input(0)
    if data.dtype is not DType.FLOAT32:
        data = context.emit(Cast(DType.FLOAT32), data, tag="real")
    context.set(steps_of_inputs(context, data, 1, _axis(context), _result_type(context)))


def _result_type(context: Context) -> DType:
    """The zero point's type, else the attribute's, else uint8."""
    zero_point = context.optional(2)
    if zero_point is not None:
        array = context.constant(2)
        if array is not None and array.dtype.name in ("int4", "uint4"):
            context.refuse(f"it quantizes to {array.dtype.name}", "use int8, uint8, int16 or uint16")
        return zero_point.dtype
    number = context.int_("output_dtype", 0)
    if number and number not in DTYPES:
        context.refuse(
            "it quantizes to an element type that is not supported", "use int8, uint8, int16 or uint16"
        )
    return DTYPES[number] if number else DType.UINT8


def _spread(context: Context, ref: Ref, data: Ref, axis: int) -> Ref:
    """A scale or zero point of the run, to broadcast over the data: one number, one per index of the axis, or
    one per block of it."""
    if ref.type.elements == 1:
        return context.reshape(ref, ())
    if not -data.rank <= axis < data.rank:
        raise context.fault(f"axis {axis} of {list(data.shape)}")
    axis %= data.rank
    if ref.rank == 1 and ref.shape[0] == data.shape[axis]:
        return context.reshape(ref, [ref.shape[0] if place == axis else 1 for place in range(data.rank)])
    size = context.int_("block_size", 0)
    others = [place for place in range(data.rank) if place != axis]
    if ref.rank != data.rank or any(ref.shape[place] not in (1, data.shape[place]) for place in others):
        raise context.fault(f"scales {list(ref.shape)} for {list(data.shape)}")
    if ref.shape[axis] in (1, data.shape[axis]):
        return ref
    if size < 1 or ref.shape[axis] * size != data.shape[axis]:
        raise context.fault(f"scales {list(ref.shape)} in blocks of {size} for {list(data.shape)}")
    before, after = ref.shape[:axis], ref.shape[axis + 1 :]
    apart = context.reshape(ref, (*before, ref.shape[axis], 1, *after))
    repeated = context.emit(
        Expand((*before, ref.shape[axis], size, *after)), apart, tag=f"{ref.name[-12:]}/blocks"
    )
    return context.reshape(repeated, (*before, data.shape[axis], *after))


def _computed_numbers(context: Context, data: Ref, scale: int, axis: int, tag: str) -> Ref:
    numbers = context.emit(Cast(DType.FLOAT32), data, tag=f"{tag}real")
    if (zero_point := context.optional(scale + 1)) is not None:
        spread = _spread(context, zero_point, data, axis)
        point = context.emit(Cast(DType.FLOAT32), spread, tag=f"{tag}zero")
        numbers = context.emit(Sub(), numbers, point, tag=f"{tag}centred")
    return context.emit(Mul(), numbers, _spread(context, context.input(scale), data, axis), tag=tag)


def steps_of(context: Context, data: Ref, scale: Ref, zero_point: Ref | None, dtype: DType) -> Ref:
    """Integers of a scale and zero point of the run."""
    if dtype not in STEPS:
        context.refuse(f"it quantizes to {dtype.value}", "use int8, uint8, int16 or uint16")
    steps = context.emit(Binary(BinaryFunction.DIV), data, scale, tag="quotient")
    steps = context.emit(Unary(UnaryFunction.ROUND), steps, tag="round")
    if zero_point is not None:
        point = context.emit(Cast(DType.FLOAT32), zero_point, tag="zero")
        steps = context.emit(Add(), steps, point, tag="shifted")
    low, high = dtype.limits
    steps = context.emit(Clip(float(low), float(high)), steps, tag="clip")
    return context.emit(Cast(dtype), steps)


RULES: dict[str, Rule] = {
    "DequantizeLinear": _dequantize_linear,
    "QuantizeLinear": _quantize_linear,
    "com.microsoft.DequantizeLinear": _dequantize_linear,
    "com.microsoft.QuantizeLinear": _quantize_linear,
}
