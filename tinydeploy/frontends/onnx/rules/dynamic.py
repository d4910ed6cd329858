"""Integer products without scales, and scales of the run: quantization without calibration.

The products are sums of plain integers. They are computed in float32, which holds whole numbers below 2**24
exactly; longer sums are made of several such parts.
"""

from __future__ import annotations

import numpy as np

from tinydeploy.frontends.onnx.builder import Ref
from tinydeploy.frontends.onnx.context import Context, Rule
from tinydeploy.frontends.onnx.rules import windows
from tinydeploy.frontends.onnx.rules.matrices import product
from tinydeploy.frontends.onnx.rules.quantized import steps_of
from tinydeploy.ir import DType
from tinydeploy.ops.add import Add
from tinydeploy.ops.binary_function import Binary, BinaryFunction
from tinydeploy.ops.cast import Cast
from tinydeploy.ops.clip import Clip
from tinydeploy.ops.maximum import Maximum
from tinydeploy.ops.minimum import Minimum
from tinydeploy.ops.mul import Mul
from tinydeploy.ops.reduce_max import ReduceMax
from tinydeploy.ops.reduce_min import ReduceMin
from tinydeploy.ops.slice import Slice
from tinydeploy.ops.sub import Sub
from tinydeploy.ops.unary_function import Unary, UnaryFunction

PART = (1 << 24) // (255 * 255)
"""Products of two centred bytes whose sum float32 holds exactly."""


def _centred(context: Context, index: int, zero_point: int, axis: int | None) -> Ref:
    """An input minus its zero point, in float32; a vector of zero points goes along an axis."""
    ref = context.input(index)
    if ref.dtype not in (DType.INT8, DType.UINT8):
        context.refuse(f"its input {index} is {ref.dtype.value}", "use int8 or uint8")
    name = f"in{index}"
    numbers = context.emit(Cast(DType.FLOAT32), ref, tag=name)
    point = context.optional(zero_point)
    if point is None:
        return numbers
    if point.type.elements == 1:
        point = context.reshape(point, ())
    elif axis is not None and point.rank == 1 and point.shape[0] == ref.shape[axis]:
        point = context.reshape(point, [point.shape[0] if place == axis else 1 for place in range(ref.rank)])
    elif point.rank != ref.rank:
        raise context.fault(f"zero points {list(point.shape)} for {list(ref.shape)}")
    real = context.emit(Cast(DType.FLOAT32), point, tag=f"{name}/zero")
    return context.emit(Sub(), numbers, real, tag=f"{name}/centred")


def _matmul_integer(context: Context) -> None:
    left_rank, right_rank = context.input(0).rank, context.input(1).rank
    a = _centred(context, 0, 2, left_rank - 2 if left_rank > 1 else None)
    b = _centred(context, 1, 3, right_rank - 1)
    depth = a.shape[-1] if a.rank else 0
    total: Ref | None = None
    for first in range(0, depth, PART):
        last = min(first + PART, depth)
        part = product(
            context,
            _cut(context, a, a.rank - 1, first, last),
            _cut(context, b, max(b.rank - 2, 0), first, last),
        )
        whole = context.emit(Cast(DType.INT32), part, tag=f"part{first}")
        total = whole if total is None else context.emit(Add(), total, whole, tag=f"sum{first}")
    if total is None:
        raise context.fault("its operands are single numbers")
    context.set(total)


def _cut(context: Context, ref: Ref, axis: int, first: int, last: int) -> Ref:
    if last - first == ref.shape[axis]:
        return ref
    begin = tuple(first if place == axis else 0 for place in range(ref.rank))
    size = tuple(last - first if place == axis else extent for place, extent in enumerate(ref.shape))
    return context.emit(Slice(begin, size, (1,) * ref.rank), ref, tag=f"{ref.name[-8:]}/{first}")


def _conv_integer(context: Context) -> None:
    data, weights = _centred(context, 0, 2, None), _centred(context, 1, 3, 0)
    taps = int(np.prod(weights.shape[1:]))
    if taps > PART:
        context.refuse(
            f"it sums {taps} products of plain integers; {PART} are exact",
            "quantize the model with QLinearConv or QDQ nodes",
        )
    context.substitute(data, weights)
    windows.RULES["Conv"](context)
    result = context.results[0]
    if not isinstance(result, Ref):
        raise context.fault("it depends on constants alone")
    context.set(context.emit(Cast(DType.INT32), result))


def _dynamic_quantize_linear(context: Context) -> None:
    """uint8 steps over the range of the data, which always includes 0."""
    data = context.input(0)
    axes = tuple(range(data.rank))
    zero = context.literal(np.array(0.0, np.float32), "zero")
    high = context.emit(Maximum(), context.emit(ReduceMax(axes), data, tag="largest"), zero, tag="high")
    low = context.emit(Minimum(), context.emit(ReduceMin(axes), data, tag="least"), zero, tag="low")
    width = context.emit(Sub(), high, low, tag="width")
    steps = context.literal(np.array(255.0, np.float32), "steps")
    scale = context.emit(Binary(BinaryFunction.DIV), width, steps, tag="scale")
    point = context.emit(Binary(BinaryFunction.DIV), low, scale, tag="offset")
    point = context.emit(Unary(UnaryFunction.NEG), point, tag="negated")
    point = context.emit(Clip(0.0, 255.0), point, tag="clip")
    zero_point = context.emit(
        Cast(DType.UINT8), context.emit(Unary(UnaryFunction.ROUND), point, tag="round"), tag="zero_point"
    )
    context.set(steps_of(context, data, scale, zero_point, DType.UINT8), scale, zero_point)


def _matmul_integer_to_float(context: Context) -> None:
    """com.microsoft.MatMulIntegerToFloat: the sums times both scales, plus a bias."""
    a, b = _centred(context, 0, 4, None), _centred(context, 1, 5, context.input(1).rank - 1)
    scale = context.emit(Mul(), context.input(2), context.input(3), tag="scale")
    result = context.emit(Mul(), product(context, a, b), scale, tag="scaled")
    bias = context.optional(6)
    context.set(result if bias is None else context.emit(Add(), result, bias, tag="sum"))


RULES: dict[str, Rule] = {
    "ConvInteger": _conv_integer,
    "DynamicQuantizeLinear": _dynamic_quantize_linear,
    "MatMulInteger": _matmul_integer,
    "com.microsoft.MatMulIntegerToFloat": _matmul_integer_to_float,
}
