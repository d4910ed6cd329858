"""Functions of one element: activations, mathematics, predicates."""

from __future__ import annotations

from tinydeploy.frontends.onnx.context import Context, Rule
from tinydeploy.frontends.onnx.rules.elementwise import direct
from tinydeploy.ops.add import Add
from tinydeploy.ops.hard_swish import HardSwish
from tinydeploy.ops.leaky_relu import LeakyRelu
from tinydeploy.ops.logistic import Logistic
from tinydeploy.ops.mul import Mul
from tinydeploy.ops.relu import Relu
from tinydeploy.ops.tanh import Tanh
from tinydeploy.ops.unary_function import Unary, UnaryFunction

_SIMPLE = {
    "Abs": UnaryFunction.ABS,
    "Acos": UnaryFunction.ACOS,
    "Acosh": UnaryFunction.ACOSH,
    "Asin": UnaryFunction.ASIN,
    "Asinh": UnaryFunction.ASINH,
    "Atan": UnaryFunction.ATAN,
    "Atanh": UnaryFunction.ATANH,
    "BitwiseNot": UnaryFunction.BITWISE_NOT,
    "Ceil": UnaryFunction.CEIL,
    "Cos": UnaryFunction.COS,
    "Cosh": UnaryFunction.COSH,
    "Erf": UnaryFunction.ERF,
    "Exp": UnaryFunction.EXP,
    "Floor": UnaryFunction.FLOOR,
    "IsNaN": UnaryFunction.IS_NAN,
    "Log": UnaryFunction.LOG,
    "Mish": UnaryFunction.MISH,
    "Neg": UnaryFunction.NEG,
    "Not": UnaryFunction.NOT,
    "Reciprocal": UnaryFunction.RECIPROCAL,
    "Round": UnaryFunction.ROUND,
    "Sign": UnaryFunction.SIGN,
    "Sin": UnaryFunction.SIN,
    "Sinh": UnaryFunction.SINH,
    "Softplus": UnaryFunction.SOFTPLUS,
    "Softsign": UnaryFunction.SOFTSIGN,
    "Sqrt": UnaryFunction.SQRT,
    "Tan": UnaryFunction.TAN,
}

_PARAMETERS: dict[str, tuple[UnaryFunction, tuple[tuple[str, float], ...]]] = {
    "Celu": (UnaryFunction.CELU, (("alpha", 1.0),)),
    "Elu": (UnaryFunction.ELU, (("alpha", 1.0),)),
    "HardSigmoid": (UnaryFunction.HARD_SIGMOID, (("alpha", 0.2), ("beta", 0.5))),
    "Selu": (
        UnaryFunction.SELU,
        (("alpha", 1.67326319217681884765625), ("gamma", 1.05070102214813232421875)),
    ),
    "Shrink": (UnaryFunction.SHRINK, (("lambd", 0.5), ("bias", 0.0))),
    "Swish": (UnaryFunction.SWISH, (("alpha", 1.0),)),
    "ThresholdedRelu": (UnaryFunction.THRESHOLDED_RELU, (("alpha", 1.0),)),
    "com.microsoft.QuickGelu": (UnaryFunction.SWISH, (("alpha", 1.702),)),
}
"""Operators with attributes: which become alpha and beta, and their defaults."""


def _with_parameters(function: UnaryFunction, parameters: tuple[tuple[str, float], ...]) -> Rule:
    def rule(context: Context) -> None:
        numbers = [context.float_(name, default) for name, default in parameters]
        context.set(context.emit(Unary(function, *numbers), context.input(0)))

    return rule


def _swiglu(context: Context) -> None:
    swish = Unary(UnaryFunction.SWISH, context.float_("alpha", 1.0))
    gate = context.emit(swish, context.input(0), tag="gate")
    context.set(context.emit(Mul(), gate, context.input(1)))


def _leaky_relu(context: Context) -> None:
    context.set(context.emit(LeakyRelu(context.float_("alpha", 0.01)), context.input(0)))


def _is_inf(context: Context) -> None:
    minus, plus = (context.int_(f"detect_{name}", 1) for name in ("negative", "positive"))
    attrs = Unary(UnaryFunction.IS_INF, float(bool(minus)), float(bool(plus)))
    context.set(context.emit(attrs, context.input(0)))


def _gelu(context: Context) -> None:
    approximate = context.str_("approximate", "none")
    functions = {"none": UnaryFunction.GELU, "tanh": UnaryFunction.GELU_TANH}
    if approximate not in functions:
        raise context.fault(f"approximate is {approximate[:40]!r}; allowed are none and tanh")
    context.set(context.emit(Unary(functions[approximate]), context.input(0)))


def _gelu_of_sum(function: UnaryFunction) -> Rule:
    """onnxruntime's: with a bias that is added before."""

    def rule(context: Context) -> None:
        data, bias = context.input(0), context.optional(1)
        if bias is not None:
            data = context.emit(Add(), data, bias, tag="sum")
        context.set(context.emit(Unary(function), data))

    return rule


RULES: dict[str, Rule] = {
    **{name: direct(Unary(function), 1) for name, function in _SIMPLE.items()},
    **{name: _with_parameters(*entry) for name, entry in _PARAMETERS.items()},
    "Gelu": _gelu,
    "HardSwish": direct(HardSwish(), 1),
    "IsInf": _is_inf,
    "LeakyRelu": _leaky_relu,
    "Relu": direct(Relu(), 1),
    "Sigmoid": direct(Logistic(), 1),
    "SwiGLU": _swiglu,
    "Tanh": direct(Tanh(), 1),
    "com.microsoft.BiasGelu": _gelu_of_sum(UnaryFunction.GELU),
    "com.microsoft.FastGelu": _gelu_of_sum(UnaryFunction.GELU_TANH),
    "com.microsoft.Gelu": direct(Unary(UnaryFunction.GELU), 1),
}
