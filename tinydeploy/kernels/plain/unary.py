"""Functions of one element as C."""

from __future__ import annotations

from tinydeploy.ir import DType
from tinydeploy.kernels.plain.types import C_TYPES, Expression, float_literal, is_unsigned, unsigned, wrapped
from tinydeploy.ops import AnySite
from tinydeploy.ops.unary_function import Unary, UnaryFunction

_F = UnaryFunction

_CALLS = (
    *(_F.ACOS, _F.ACOSH, _F.ASIN, _F.ASINH, _F.ATAN, _F.ATANH, _F.COS, _F.COSH, _F.SIN, _F.SINH, _F.TAN),
    *(_F.ABS, _F.CEIL, _F.FLOOR, _F.ERF, _F.EXP, _F.LOG, _F.SOFTPLUS, _F.SQRT),
)
"""Functions that td_math.h has under their own names."""

_FLOAT: dict[UnaryFunction, Expression] = {
    **{function: Expression(f"td_{function.value}f(a)") for function in _CALLS},
    _F.CELU: Expression("a < 0.0f ? alpha * td_expm1f(a / alpha) : a"),
    _F.ELU: Expression("a < 0.0f ? alpha * td_expm1f(a) : a"),
    _F.GELU: Expression("0.5f * a * td_erfcf(-0.70710678f * a)"),
    _F.GELU_TANH: Expression("a * td_sigmoidf(1.59576912f * (a + 0.044715f * a * a * a))"),
    _F.HARD_SIGMOID: Expression(
        "value < 0.0f ? 0.0f : (value > 1.0f ? 1.0f : value)", (("float", "value", "alpha * a + beta"),)
    ),
    _F.IS_NAN: Expression("(uint8_t)td_is_nanf(a)"),
    # tanh(log(1 + e)) is grown / (grown + 2).
    _F.MISH: Expression(
        "a * (grown / (grown + 2.0f))",
        (("float", "e", "td_expf(a < 20.0f ? a : 20.0f)"), ("float", "grown", "e * (e + 2.0f)")),
    ),
    _F.NEG: Expression("-a"),
    _F.RECIPROCAL: Expression("1.0f / a"),
    _F.ROUND: Expression("td_roundevenf(a)"),
    _F.RSQRT: Expression("1.0f / td_sqrtf(a)"),
    _F.SELU: Expression("beta * (a < 0.0f ? alpha * td_expm1f(a) : a)"),
    _F.SHRINK: Expression("a < -alpha ? a + beta : (a > alpha ? a - beta : 0.0f)"),
    _F.SIGN: Expression("a > 0.0f ? 1.0f : (a < 0.0f ? -1.0f : a)"),
    _F.SOFTSIGN: Expression("a / (1.0f + td_absf(a))"),
    _F.SQUARE: Expression("a * a"),
    _F.SWISH: Expression("a * td_sigmoidf(alpha * a)"),
    _F.THRESHOLDED_RELU: Expression("a > alpha ? a : 0.0f"),
}


def unary_expression(site: AnySite) -> Expression:
    """The C of a Unary node."""
    attrs: Unary = site.attrs
    dtype = site.input(0).dtype
    if dtype is not DType.FLOAT32:
        return Expression(_integer(attrs.function, dtype))
    if attrs.function is UnaryFunction.IS_INF:
        return Expression(_is_inf(attrs))
    found = _FLOAT[attrs.function]
    text = " ".join([found.result, *(definition for _, _, definition in found.definitions)])
    given = (("alpha", attrs.alpha), ("beta", attrs.beta))
    parameters = tuple((name, float_literal(value)) for name, value in given if name in text)
    return Expression(found.result, found.definitions, parameters)


def _is_inf(attrs: Unary) -> str:
    if attrs.alpha and attrs.beta:
        return "(uint8_t)td_is_inff(a)"
    if not attrs.alpha and not attrs.beta:
        return "(uint8_t)(a > a)"
    return f"(uint8_t)(a == {'-' if attrs.alpha else ''}td_infinityf())"


def _integer(function: UnaryFunction, dtype: DType) -> str:
    wide = unsigned(dtype, "a")
    zero = unsigned(dtype, "0")
    match function:
        case UnaryFunction.ABS:
            return "a" if is_unsigned(dtype) else wrapped(dtype, f"a < 0 ? {zero} - {wide} : {wide}")
        case UnaryFunction.NEG:
            return wrapped(dtype, f"{zero} - {wide}")
        case UnaryFunction.SIGN:
            negative = "" if is_unsigned(dtype) else " - (a < 0 ? 1 : 0)"
            return wrapped(dtype, f"(a > 0 ? 1 : 0){negative}")
        case UnaryFunction.BITWISE_NOT:
            return f"({C_TYPES[dtype]})~{wide}"
        case UnaryFunction.NOT:
            return "(uint8_t)(a == 0)"
        case UnaryFunction.SQUARE:
            return wrapped(dtype, f"{wide} * {wide}")
    raise ValueError(f"{function} of {dtype}")
