"""Elementwise operators: arithmetic, comparison and logic; functions of one element are in ``functions``."""

from __future__ import annotations

import numpy as np

from tinydeploy.frontends.onnx.builder import Ref
from tinydeploy.frontends.onnx.context import Context, Rule
from tinydeploy.frontends.onnx.types import DTYPES, OTHER_TYPES, element_name
from tinydeploy.ir import Array, Attrs, DType
from tinydeploy.ops.add import Add
from tinydeploy.ops.binary_function import Binary, BinaryFunction
from tinydeploy.ops.cast import Cast
from tinydeploy.ops.clip import Clip
from tinydeploy.ops.compare import Compare, Relation
from tinydeploy.ops.logical import Logical, LogicalFunction
from tinydeploy.ops.maximum import Maximum
from tinydeploy.ops.minimum import Minimum
from tinydeploy.ops.mul import Mul
from tinydeploy.ops.prelu import Prelu
from tinydeploy.ops.sub import Sub
from tinydeploy.ops.unary_function import Unary, UnaryFunction
from tinydeploy.ops.where import Where

LARGEST = float(np.finfo(np.float32).max)
"""What a bound of Clip is, before opset 11, where it does not bound."""

_POWERS = {
    -1.0: UnaryFunction.RECIPROCAL,
    0.5: UnaryFunction.SQRT,
    2.0: UnaryFunction.SQUARE,
}
"""Powers of floats that are functions of their own."""


def direct(attrs: Attrs, operands: int) -> Rule:
    """The first inputs and no attributes."""

    def rule(context: Context) -> None:
        context.set(context.emit(attrs, *(context.input(index) for index in range(operands))))

    return rule


def _chain(context: Context, attrs: Attrs) -> Ref:
    """Any number of inputs, two at a time from the left."""
    result = context.input(0)
    for index in range(1, context.inputs_given):
        result = context.emit(attrs, result, context.input(index), tag=f"{index}" if index > 1 else "")
    return result


def _chained(attrs: Attrs) -> Rule:
    def rule(context: Context) -> None:
        context.set(_chain(context, attrs))

    return rule


def _mean(context: Context) -> None:
    total = _chain(context, Add())
    if context.inputs_given == 1:
        context.set(total)
        return
    count = context.literal(np.array(context.inputs_given, total.dtype.numpy), "count")
    context.set(context.emit(Binary(BinaryFunction.DIV), total, count, tag="mean"))


def _power(context: Context) -> None:
    base, exponent = context.input(0), context.constant(1)
    if exponent is not None and exponent.size == 1 and base.dtype is DType.FLOAT32:
        function = _POWERS.get(float(exponent.reshape(-1)[0]))
        if function is not None and exponent.ndim <= base.rank:
            context.set(context.emit(Unary(function), base))
            return
    context.set(context.emit(Binary(BinaryFunction.POW), base, context.input(1)))


def _mod(context: Context) -> None:
    function = BinaryFunction.FMOD if context.int_("fmod", 0) else BinaryFunction.MOD
    context.set(context.emit(Binary(function), context.input(0), context.input(1)))


def _bit_shift(context: Context) -> None:
    direction = context.str_("direction")
    functions = {"LEFT": BinaryFunction.SHIFT_LEFT, "RIGHT": BinaryFunction.SHIFT_RIGHT}
    if direction not in functions:
        raise context.fault(f"direction is {direction!r}; allowed are LEFT and RIGHT")
    context.set(context.emit(Binary(functions[direction]), context.input(0), context.input(1)))


def _bound(context: Context, index: int, name: str) -> tuple[float | None, Ref | None]:
    """A bound of Clip: a number, or a value that is known when the model runs, or neither."""
    dtype = context.input(0).dtype
    if context.opset < 11:
        limit = context.float_(name, -LARGEST if name == "min" else LARGEST)
        return _number(np.asarray(limit, np.float32), dtype), None
    ref = context.optional(index)
    if ref is None:
        return None, None
    known = context.constant(index)
    if known is None or known.size != 1:
        return None, ref
    return _number(known, dtype), None


def _number(array: Array, dtype: DType) -> float | None:
    """The only number of an array; None where it is so far out that it does not bound."""
    item = array.reshape(-1)[0]
    if dtype is not DType.FLOAT32:
        return int(item)
    return None if abs(float(item)) >= LARGEST else float(item)


def _clip(context: Context) -> None:
    data = context.input(0)
    low, low_ref = _bound(context, 1, "min")
    high, high_ref = _bound(context, 2, "max")
    if low_ref is None and high_ref is None:
        context.set(data if low is None and high is None else context.emit(Clip(low, high), data))
        return
    if low_ref is not None:
        data = context.emit(Maximum(), data, low_ref, tag="min")
    elif low is not None:
        data = context.emit(Clip(low, None), data, tag="min")
    if high_ref is not None:
        data = context.emit(Minimum(), data, high_ref, tag="max")
    elif high is not None:
        data = context.emit(Clip(None, high), data, tag="max")
    context.set(data)


def _cast_to(context: Context, dtype: DType) -> None:
    data = context.input(0)
    context.set(data if data.dtype is dtype else context.emit(Cast(dtype), data))


def _cast(context: Context) -> None:
    number = context.int_("to")
    if number not in DTYPES:
        context.refuse(f"it casts to {element_name(number)}, which is not supported", OTHER_TYPES)
    _cast_to(context, DTYPES[number])


def _cast_like(context: Context) -> None:
    _cast_to(context, context.input(1).dtype)


RULES: dict[str, Rule] = {
    "Add": direct(Add(), 2),
    "And": direct(Logical(LogicalFunction.AND), 2),
    "BitShift": _bit_shift,
    "BitwiseAnd": direct(Binary(BinaryFunction.BIT_AND), 2),
    "BitwiseOr": direct(Binary(BinaryFunction.BIT_OR), 2),
    "BitwiseXor": direct(Binary(BinaryFunction.BIT_XOR), 2),
    "Cast": _cast,
    "CastLike": _cast_like,
    "Clip": _clip,
    "Div": direct(Binary(BinaryFunction.DIV), 2),
    "Equal": direct(Compare(Relation.EQUAL), 2),
    "Greater": direct(Compare(Relation.GREATER), 2),
    "GreaterOrEqual": direct(Compare(Relation.GREATER_EQUAL), 2),
    "Less": direct(Compare(Relation.LESS), 2),
    "LessOrEqual": direct(Compare(Relation.LESS_EQUAL), 2),
    "Max": _chained(Maximum()),
    "Mean": _mean,
    "Min": _chained(Minimum()),
    "Mod": _mod,
    "Mul": direct(Mul(), 2),
    "Or": direct(Logical(LogicalFunction.OR), 2),
    "PRelu": direct(Prelu(), 2),
    "Pow": _power,
    "Sub": direct(Sub(), 2),
    "Sum": _chained(Add()),
    "Where": direct(Where(), 3),
    "Xor": direct(Logical(LogicalFunction.XOR), 2),
}
