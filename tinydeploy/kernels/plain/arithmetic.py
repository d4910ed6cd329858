"""Operators of one to three plain elements as C: a table from operator to expression."""

from __future__ import annotations

import math
from collections.abc import Callable

from tinydeploy.ir import Attrs, DType
from tinydeploy.kernels.plain.types import (
    C_TYPES,
    Expression,
    float_literal,
    int_literal,
    is_unsigned,
    literal,
    suffix_of,
    unsigned,
    wrapped,
)
from tinydeploy.kernels.plain.unary import unary_expression
from tinydeploy.ops import AnySite
from tinydeploy.ops.add import Add
from tinydeploy.ops.binary_function import Binary, BinaryFunction
from tinydeploy.ops.cast import Cast
from tinydeploy.ops.clip import Clip
from tinydeploy.ops.compare import Compare
from tinydeploy.ops.hard_swish import HardSwish
from tinydeploy.ops.leaky_relu import LeakyRelu
from tinydeploy.ops.logical import Logical, LogicalFunction
from tinydeploy.ops.logistic import Logistic
from tinydeploy.ops.maximum import Maximum
from tinydeploy.ops.minimum import Minimum
from tinydeploy.ops.mul import Mul
from tinydeploy.ops.prelu import Prelu
from tinydeploy.ops.quantized import Activation
from tinydeploy.ops.relu import Relu
from tinydeploy.ops.sub import Sub
from tinydeploy.ops.tanh import Tanh
from tinydeploy.ops.unary_function import Unary
from tinydeploy.ops.where import Where


def bounded(name: str, low: str | None, high: str | None) -> str:
    """``name`` between two bounds, either of which may be absent; NaN stays NaN."""
    text = name if high is None else f"{name} > {high} ? {high} : {name}"
    return text if low is None else f"{name} < {low} ? {low} : {f'({text})' if high else text}"


def _activated(activation: Activation, dtype: DType, text: str) -> Expression:
    """The expression ``text`` under a fused activation."""
    low, high = (literal(bound, dtype) if math.isfinite(bound) else None for bound in activation.bounds)
    if is_unsigned(dtype):
        low = None
    if low is None and high is None:
        return Expression(text)
    result = bounded("value", low, high)
    return Expression(wrapped(dtype, result), ((C_TYPES[dtype], "value", text),))


def _arithmetic(operator: str) -> Callable[[AnySite], Expression]:
    def expression(site: AnySite) -> Expression:
        dtype = site.outputs[0].dtype
        text = f"a {operator} b"
        if dtype is not DType.FLOAT32:
            text = wrapped(dtype, f"{unsigned(dtype, 'a')} {operator} {unsigned(dtype, 'b')}")
        return _activated(site.attrs.activation, dtype, text)

    return expression


def _extreme(relation: str, function: str) -> Callable[[AnySite], Expression]:
    def expression(site: AnySite) -> Expression:
        dtype = site.outputs[0].dtype
        if dtype is DType.FLOAT32:
            return Expression(f"{function}(a, b)")
        return Expression(wrapped(dtype, f"a {relation} b ? a : b"))

    return expression


def _relu(site: AnySite) -> Expression:
    dtype = site.outputs[0].dtype
    return _activated(site.attrs.activation, dtype, "a")


def _clip(site: AnySite) -> Expression:
    dtype = site.outputs[0].dtype
    attrs: Clip = site.attrs
    # A bound that is the end of the type does not bound, and compilers say so.
    ends = dtype.limits if dtype.is_integer else (None, None)
    low, high = (
        None if bound is None or bound == end else literal(bound, dtype)
        for bound, end in zip((attrs.low, attrs.high), ends, strict=True)
    )
    if low is None or high is None:
        return Expression(wrapped(dtype, bounded("a", low, high)))
    # The upper bound comes last, so that it wins where the bounds cross.
    raised = wrapped(dtype, bounded("a", low, None))
    definitions = ((C_TYPES[dtype], "raised", raised),)
    return Expression(wrapped(dtype, bounded("raised", None, high)), definitions)


def _leaky_relu(site: AnySite) -> Expression:
    parameters = (("alpha", float_literal(site.attrs.alpha)),)
    return Expression("a < 0.0f ? alpha * a : a", (), parameters)


def _prelu(site: AnySite) -> Expression:
    dtype = site.outputs[0].dtype
    product = "a * b"
    if dtype is not DType.FLOAT32:
        product = wrapped(dtype, f"{unsigned(dtype, 'a')} * {unsigned(dtype, 'b')}")
    return Expression(wrapped(dtype, f"a < {literal(0, dtype)} ? {product} : a"))


_BIT_OPERATORS = {
    BinaryFunction.BIT_AND: "&",
    BinaryFunction.BIT_OR: "|",
    BinaryFunction.BIT_XOR: "^",
}
_FLOAT_FUNCTIONS = {
    BinaryFunction.DIV: "a / b",
    BinaryFunction.FLOOR_DIV: "td_floorf(a / b)",
    BinaryFunction.FMOD: "td_fmodf(a, b)",
    BinaryFunction.MOD: "td_modulof(a, b)",
    BinaryFunction.SQUARED_DIFFERENCE: "(a - b) * (a - b)",
}
_INTEGER_FUNCTIONS = {
    BinaryFunction.DIV: "td_quotient",
    BinaryFunction.FLOOR_DIV: "td_floor_quotient",
    BinaryFunction.FMOD: "td_remainder",
    BinaryFunction.MOD: "td_modulo",
}


def _binary(site: AnySite) -> Expression:
    function, dtype = site.attrs.function, site.input(0).dtype
    if function is BinaryFunction.POW:
        return Expression(_power(dtype, site.input(1).dtype))
    if dtype is DType.FLOAT32:
        return Expression(_FLOAT_FUNCTIONS[function])
    if function in _INTEGER_FUNCTIONS:
        return Expression(wrapped(dtype, f"{_INTEGER_FUNCTIONS[function]}_{suffix_of(dtype)}(a, b)"))
    a, b = unsigned(dtype, "a"), unsigned(dtype, "b")
    if function in _BIT_OPERATORS:
        return Expression(wrapped(dtype, f"{a} {_BIT_OPERATORS[function]} {b}"))
    if function is BinaryFunction.SQUARED_DIFFERENCE:
        return Expression(wrapped(dtype, f"({a} - {b}) * ({a} - {b})"))
    return Expression(wrapped(dtype, _shift(function, dtype)))


def _shift(function: BinaryFunction, dtype: DType) -> str:
    """Distances outside of the type are told by comparing them as unsigned."""
    inside = f"{unsigned(dtype, 'b')} < {dtype.bits}u"
    if function is BinaryFunction.SHIFT_LEFT:
        return f"{inside} ? {unsigned(dtype, 'a')} << b : 0u"
    if is_unsigned(dtype):
        return f"{inside} ? {unsigned(dtype, 'a')} >> b : 0u"
    return f"a >> ({inside} ? b : {dtype.bits - 1})"


def _power(base: DType, exponent: DType) -> str:
    if base is DType.FLOAT32:
        if exponent is DType.INT64:
            return "td_powf(a, td_float_of_i64(b))"
        return "td_powf(a, b)" if exponent is DType.FLOAT32 else "td_powf(a, (float)b)"
    if exponent is not DType.FLOAT32:
        return f"({C_TYPES[base]})td_power_i64(a, b)"
    low, high = (int_literal(limit, DType.INT64) for limit in base.limits)
    return f"({C_TYPES[base]})td_power_real(a, b, {low}, {high})"


def _cast(site: AnySite) -> Expression:
    source, to = site.input(0).dtype, site.outputs[0].dtype
    if source is to and to is not DType.BOOL:
        return Expression("a")
    if to is DType.BOOL:
        return Expression(f"(uint8_t)(a != {'0.0f' if source is DType.FLOAT32 else '0'})")
    if source is DType.BOOL:
        return Expression(f"a != 0 ? {literal(1, to)} : {literal(0, to)}")
    if to is DType.FLOAT32:
        return Expression("td_float_of_i64(a)" if source is DType.INT64 else "(float)a")
    if source is not DType.FLOAT32:
        return Expression(f"({C_TYPES[to]})a")
    if to in (DType.UINT32, DType.INT64):
        return Expression(f"td_saturate_{suffix_of(to)}(a)")
    low, high = (int_literal(limit, DType.INT32) for limit in to.limits)
    return Expression(f"({C_TYPES[to]})td_saturate_i32(a, {low}, {high})")


_LOGICAL = {
    LogicalFunction.AND: "a != 0 && b != 0",
    LogicalFunction.OR: "a != 0 || b != 0",
    LogicalFunction.XOR: "(a != 0) != (b != 0)",
}


def _where(site: AnySite) -> Expression:
    return Expression(wrapped(site.outputs[0].dtype, "a != 0 ? b : c"))


EXPRESSIONS: dict[type[Attrs], Callable[[AnySite], Expression]] = {
    Add: _arithmetic("+"),
    Binary: _binary,
    Cast: _cast,
    Clip: _clip,
    Compare: lambda site: Expression(f"(uint8_t)(a {site.attrs.relation.value} b)"),
    HardSwish: lambda _site: Expression(
        "a * (gate < 0.0f ? 0.0f : (gate > 1.0f ? 1.0f : gate))",
        (("float", "gate", "a * 0.166666667f + 0.5f"),),
    ),
    LeakyRelu: _leaky_relu,
    Logical: lambda site: Expression(f"(uint8_t)({_LOGICAL[site.attrs.function]})"),
    Logistic: lambda _site: Expression("td_sigmoidf(a)"),
    Maximum: _extreme(">", "td_maximumf"),
    Minimum: _extreme("<", "td_minimumf"),
    Mul: _arithmetic("*"),
    Prelu: _prelu,
    Relu: _relu,
    Sub: _arithmetic("-"),
    Tanh: lambda _site: Expression("td_tanhf(a)"),
    Unary: unary_expression,
    Where: _where,
}
"""The C of each operator at a node whose types are plain."""
