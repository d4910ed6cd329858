"""FullyConnected: data of M * K elements, weights [N, K], bias [N]; the output has M rows of N."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tinydeploy.fixed_point import Rounding
from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, is_plain, only
from tinydeploy.ops.dot import dot_constraints, dot_reference
from tinydeploy.ops.float_windows import float_constraints, float_dot
from tinydeploy.ops.quantized import Activation, is_quantized
from tinydeploy.ops.sums import dense_sums


@dataclass(frozen=True, slots=True)
class FullyConnected(Attrs):
    """``keep_dims`` keeps the leading extents of the data; otherwise the output is [M, N].

    ``asymmetric``: float data, before they meet integer weights, become steps with a zero point.
    """

    activation: Activation = Activation.NONE
    keep_dims: bool = False
    rounding: Rounding = Rounding.TFLITE
    asymmetric: bool = False


def rows_of(site: Site[FullyConnected]) -> int:
    """M: how many vectors of K elements the data holds."""
    return site.input(0).elements // site.input(1).shape[-1]


def _infer(site: Site[FullyConnected]) -> tuple[TensorType, ...]:
    outputs = site.input(1).shape[0]
    leading = site.input(0).shape[:-1] if site.attrs.keep_dims else (rows_of(site),)
    return (TensorType(site.input(0).dtype, (*leading, outputs)),)


def _reference(site: Site[FullyConnected], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    if is_plain(site):
        return (float_dot(site, arrays, dense_sums),)
    return (dot_reference(site, arrays, dense_sums).reshape(site.outputs[0].shape),)


def _macs(site: Site[FullyConnected]) -> int:
    return rows_of(site) * math.prod(site.input(1).shape)


def _rows_are_whole(site: Site[FullyConnected]) -> bool:
    weights = site.input(1).shape
    if len(weights) != 2 or site.input(0).elements % weights[1]:
        return False
    return not site.attrs.keep_dims or site.input(0).shape[-1] == weights[1]


OP = Operator(
    attrs=FullyConnected,
    roles=("data", "weights", "bias?"),
    doc="matrix of weights times vectors of data",
    infer=_infer,
    reference=_reference,
    macs=_macs,
    constraints=(
        Constraint(
            "the weights are [N, K] and the data holds whole vectors of K",
            _rows_are_whole,
            lambda site: f"weights {list(site.input(1).shape)}, data {list(site.input(0).shape)}",
            "repair the model",
            gate=True,
        ),
        *only(is_plain, *float_constraints(channel_axis=0)),
        *only(is_quantized, *dot_constraints(channel_axis=0)),
    ),
)
