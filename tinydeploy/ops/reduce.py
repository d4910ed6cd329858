"""Reduce: products, norms and sums of functions of plain elements over axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from tinydeploy.ir import Array, Attrs
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs
from tinydeploy.ops.plain import FLOATS, NUMBERS, not_quantized, plain_reference, plain_types, widened
from tinydeploy.ops.quantized import describe
from tinydeploy.ops.reduction import axes_constraint, reduction_infer


class ReduceFunction(Enum):
    """What the elements become. Only floats have roots and logarithms."""

    PROD = "prod"
    L1 = "l1"
    """Sum of the sizes."""
    L2 = "l2"
    """Root of the sum of squares."""
    LOG_SUM = "log_sum"
    LOG_SUM_EXP = "log_sum_exp"
    SUM_SQUARE = "sum_square"


FRACTIONAL = (ReduceFunction.L2, ReduceFunction.LOG_SUM, ReduceFunction.LOG_SUM_EXP)


@dataclass(frozen=True, slots=True)
class Reduce(Attrs):
    """``axes`` are ascending, from 0 on; ``keep_dims`` leaves them with extent 1."""

    function: ReduceFunction
    axes: tuple[int, ...]
    keep_dims: bool = False


def _log_sum_exp(x: Array, axes: tuple[int, ...]) -> Array:
    top = x.max(axis=axes, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    total = np.exp(x - top).sum(axis=axes, keepdims=True)
    return np.asarray(np.log(total) + top)


_MEANINGS: dict[ReduceFunction, Callable[[Array, tuple[int, ...]], Array]] = {
    ReduceFunction.PROD: lambda x, axes: np.asarray(x.prod(axis=axes, dtype=x.dtype)),
    ReduceFunction.L1: lambda x, axes: np.asarray(np.abs(x).sum(axis=axes, dtype=x.dtype)),
    ReduceFunction.L2: lambda x, axes: np.sqrt(np.square(x).sum(axis=axes)),
    ReduceFunction.LOG_SUM: lambda x, axes: np.log(x.sum(axis=axes)),
    ReduceFunction.LOG_SUM_EXP: _log_sum_exp,
    ReduceFunction.SUM_SQUARE: lambda x, axes: np.asarray(np.square(x).sum(axis=axes, dtype=x.dtype)),
}


def _compute(site: Site[Reduce], data: tuple[Array, ...]) -> Array:
    result = _MEANINGS[site.attrs.function](widened(data[0]), site.attrs.axes)
    return np.asarray(result).reshape(site.outputs[0].shape)


OP = Operator(
    attrs=Reduce,
    roles=("data",),
    doc="over any axes: " + ", ".join(function.value for function in ReduceFunction),
    infer=reduction_infer,
    reference=plain_reference(_compute),
    macs=no_macs,
    constraints=(
        not_quantized(),
        *plain_types(NUMBERS, 0),
        axes_constraint(),
        Constraint(
            "roots and logarithms are of float32",
            lambda site: site.attrs.function not in FRACTIONAL or site.input(0).dtype in FLOATS,
            lambda site: f"{site.attrs.function.value} of {describe(site.input(0))}",
            "cast the data to float32",
        ),
    ),
)
