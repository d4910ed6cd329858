"""Unary: a function of one plain element, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np
from scipy import special

from tinydeploy.ir import Array, Attrs, DType, TensorType
from tinydeploy.ops.base import AnySite, Constraint, Operator, Site, no_macs
from tinydeploy.ops.plain import (
    FLOATS,
    INTEGERS,
    NUMBERS,
    SIGNED,
    TRUTHS,
    names_of,
    not_quantized,
    plain_reference,
    widened,
)
from tinydeploy.ops.quantized import describe


class UnaryFunction(Enum):
    """The functions; ``alpha`` and ``beta`` are parameters of some."""

    ABS = "abs"
    ACOS = "acos"
    ACOSH = "acosh"
    ASIN = "asin"
    ASINH = "asinh"
    ATAN = "atan"
    ATANH = "atanh"
    BITWISE_NOT = "bitwise_not"
    CEIL = "ceil"
    CELU = "celu"
    """x from 0 on, below ``alpha * (exp(x / alpha) - 1)``."""
    COS = "cos"
    COSH = "cosh"
    ELU = "elu"
    """x from 0 on, below ``alpha * (exp(x) - 1)``."""
    ERF = "erf"
    EXP = "exp"
    FLOOR = "floor"
    GELU = "gelu"
    GELU_TANH = "gelu_tanh"
    HARD_SIGMOID = "hard_sigmoid"
    """``alpha * x + beta`` between 0 and 1."""
    IS_INF = "is_inf"
    """Infinite: ``alpha`` is 1 where minus infinity counts, ``beta`` where plus infinity does; else 0."""
    IS_NAN = "is_nan"
    LOG = "log"
    MISH = "mish"
    NEG = "neg"
    NOT = "not"
    RECIPROCAL = "reciprocal"
    ROUND = "round"
    """To the nearest whole number, ties to the even one."""
    RSQRT = "rsqrt"
    SELU = "selu"
    """``beta * x`` from 0 on, below ``beta * alpha * (exp(x) - 1)``."""
    SHRINK = "shrink"
    """0 within ``alpha`` of 0, outside nearer to 0 by ``beta``."""
    SIGN = "sign"
    SIN = "sin"
    SINH = "sinh"
    SOFTPLUS = "softplus"
    SOFTSIGN = "softsign"
    SQRT = "sqrt"
    SQUARE = "square"
    SWISH = "swish"
    """``x / (1 + exp(-alpha * x))``."""
    TAN = "tan"
    THRESHOLDED_RELU = "thresholded_relu"
    """x above ``alpha``, else 0."""


@dataclass(frozen=True, slots=True)
class Unary(Attrs):
    """Element by element; ``alpha`` and ``beta`` are float32 numbers."""

    function: UnaryFunction
    alpha: float = 0.0
    beta: float = 0.0


@dataclass(frozen=True, slots=True)
class Meaning:
    """A function of elements, alpha and beta, and the element types that it takes."""

    of: Callable[[Array, float, float], Array]
    types: tuple[DType, ...] = FLOATS


def _simple(function: Callable[[Array], Array], types: tuple[DType, ...] = FLOATS) -> Meaning:
    return Meaning(lambda x, _alpha, _beta: function(x), types)


def _sigmoid(x: Array) -> Array:
    return np.asarray(special.expit(x))


def _softplus(x: Array) -> Array:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _is_inf(x: Array, minus: float, plus: float) -> Array:
    return (np.isneginf(x) & bool(minus)) | (np.isposinf(x) & bool(plus))


def _shrink(x: Array, limit: float, bias: float) -> Array:
    return np.where(x < -limit, x + bias, np.where(x > limit, x - bias, 0.0))


def _gelu_tanh(x: Array) -> Array:
    return x * _sigmoid(2.0 * np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3))


_F = UnaryFunction
MEANINGS: dict[UnaryFunction, Meaning] = {
    _F.ABS: _simple(np.abs, NUMBERS),
    _F.ACOS: _simple(np.arccos),
    _F.ACOSH: _simple(np.arccosh),
    _F.ASIN: _simple(np.arcsin),
    _F.ASINH: _simple(np.arcsinh),
    _F.ATAN: _simple(np.arctan),
    _F.ATANH: _simple(np.arctanh),
    _F.BITWISE_NOT: _simple(np.invert, INTEGERS),
    _F.CEIL: _simple(np.ceil),
    _F.CELU: Meaning(lambda x, alpha, _: np.where(x < 0, alpha * np.expm1(x / alpha), x)),
    _F.COS: _simple(np.cos),
    _F.COSH: _simple(np.cosh),
    _F.ELU: Meaning(lambda x, alpha, _: np.where(x < 0, alpha * np.expm1(x), x)),
    _F.ERF: _simple(special.erf),
    _F.EXP: _simple(np.exp),
    _F.FLOOR: _simple(np.floor),
    _F.GELU: _simple(lambda x: 0.5 * x * special.erfc(-x / np.sqrt(2.0))),
    _F.GELU_TANH: _simple(_gelu_tanh),
    _F.HARD_SIGMOID: Meaning(lambda x, alpha, beta: np.clip(alpha * x + beta, 0.0, 1.0)),
    _F.IS_INF: Meaning(_is_inf),
    _F.IS_NAN: _simple(np.isnan),
    _F.LOG: _simple(np.log),
    _F.MISH: _simple(lambda x: x * np.tanh(_softplus(x))),
    _F.NEG: _simple(np.negative, (*FLOATS, *SIGNED)),
    _F.NOT: _simple(np.logical_not, TRUTHS),
    _F.RECIPROCAL: _simple(np.reciprocal),
    _F.ROUND: _simple(np.rint),
    _F.RSQRT: _simple(lambda x: 1.0 / np.sqrt(x)),
    _F.SELU: Meaning(lambda x, alpha, beta: beta * np.where(x < 0, alpha * np.expm1(x), x)),
    _F.SHRINK: Meaning(_shrink),
    _F.SIGN: _simple(np.sign, NUMBERS),
    _F.SIN: _simple(np.sin),
    _F.SINH: _simple(np.sinh),
    _F.SOFTPLUS: _simple(_softplus),
    _F.SOFTSIGN: _simple(lambda x: x / (1.0 + np.abs(x))),
    _F.SQRT: _simple(np.sqrt),
    _F.SQUARE: _simple(np.square, NUMBERS),
    _F.SWISH: Meaning(lambda x, alpha, _: x * _sigmoid(alpha * x)),
    _F.TAN: _simple(np.tan),
    _F.THRESHOLDED_RELU: Meaning(lambda x, alpha, _: np.where(x > alpha, x, 0.0)),
}

PREDICATES = (_F.IS_INF, _F.IS_NAN)
"""Functions whose result is bool."""


def meaning_of(site: Site[Unary]) -> Meaning:
    return MEANINGS[site.attrs.function]


def _infer(site: Site[Unary]) -> tuple[TensorType, ...]:
    data = site.input(0)
    dtype = DType.BOOL if site.attrs.function in PREDICATES else data.dtype
    return (TensorType(dtype, data.shape),)


def _compute(site: Site[Unary], data: tuple[Array, ...]) -> Array:
    alpha, beta = (float(np.float32(number)) for number in (site.attrs.alpha, site.attrs.beta))
    return meaning_of(site).of(widened(data[0]), alpha, beta)


def _got(site: AnySite) -> str:
    return f"{site.attrs.function.value} of {describe(site.input(0))}: {names_of(meaning_of(site).types)}"


OP = Operator(
    attrs=Unary,
    roles=("data",),
    doc="a function of one element: " + ", ".join(function.value for function in UnaryFunction),
    infer=_infer,
    reference=plain_reference(_compute),
    macs=no_macs,
    constraints=(
        not_quantized(),
        Constraint(
            "the function takes the element type",
            lambda site: site.input(0).dtype in meaning_of(site).types,
            _got,
            "cast the data to a type that the function takes",
            gate=True,
        ),
        Constraint(
            "its parameters are finite numbers",
            lambda site: bool(np.isfinite(np.array([site.attrs.alpha, site.attrs.beta], np.float32)).all()),
            lambda site: f"alpha {site.attrs.alpha:g}, beta {site.attrs.beta:g}",
            "repair the model",
        ),
    ),
)
