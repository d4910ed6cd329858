"""Normalization: data brought to a common mean and size over some axes, then scaled and shifted."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, is_plain, no_macs, only, operand
from tinydeploy.ops.float_windows import float_types
from tinydeploy.ops.integer_normalization import normalization_constraints, normalized
from tinydeploy.ops.quantized import is_quantized


class Norm(Enum):
    """What the data is divided by; ``e`` is the epsilon, ``m`` the mean over the axes."""

    VARIANCE = "variance"
    """``(x - m) / sqrt(mean((x - m)**2) + e)``: layer, instance, group normalization."""
    DEVIATION = "deviation"
    """``(x - m) / (sqrt(mean((x - m)**2)) + e)``: mean variance normalization."""
    ROOT_MEAN_SQUARE = "root_mean_square"
    """``x / sqrt(mean(x**2) + e)``."""
    L1 = "l1"
    """``x / max(sum(abs(x)), e)``; 0 where the divisor is 0."""
    L2 = "l2"
    """``x / max(sqrt(sum(x**2)), e)``; 0 where the divisor is 0."""

    @property
    def centres(self) -> bool:
        """Whether the mean is taken away first."""
        return self in (Norm.VARIANCE, Norm.DEVIATION)


@dataclass(frozen=True, slots=True)
class Normalization(Attrs):
    """``axes`` ascending, from 0 on; scale and bias broadcast to the data as in numpy."""

    axes: tuple[int, ...]
    norm: Norm = Norm.VARIANCE
    epsilon: float = 1e-5


def _reference(site: Site[Normalization], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    attrs = site.attrs
    if is_quantized(site):
        return (normalized(site, operand(arrays, 0), centres=attrs.norm.centres),)
    data = operand(arrays, 0).astype(np.float64)
    axes, epsilon = attrs.axes, float(np.float32(attrs.epsilon))
    if attrs.norm.centres:
        data = data - data.mean(axis=axes, keepdims=True)
    if attrs.norm is Norm.L1:
        divisor = np.maximum(np.abs(data).sum(axis=axes, keepdims=True), epsilon)
    elif attrs.norm is Norm.L2:
        divisor = np.maximum(np.sqrt((data**2).sum(axis=axes, keepdims=True)), epsilon)
    elif attrs.norm is Norm.DEVIATION:
        divisor = np.sqrt((data**2).mean(axis=axes, keepdims=True)) + epsilon
    else:
        divisor = np.sqrt((data**2).mean(axis=axes, keepdims=True) + epsilon)
    result = np.divide(data, divisor, out=np.zeros_like(data), where=divisor != 0)
    if site.has(1):
        result = result * operand(arrays, 1)
    if site.has(2):
        result = result + operand(arrays, 2)
    return (result.astype(np.float32),)


def _axes_fit(site: Site[Normalization]) -> bool:
    axes, rank = site.attrs.axes, len(site.input(0).shape)
    return bool(axes) and list(axes) == sorted(set(axes)) and all(0 <= axis < rank for axis in axes)


def _factors_fit(site: Site[Normalization]) -> bool:
    shape = site.input(0).shape
    try:
        return all(
            np.broadcast_shapes(shape, site.input(index).shape) == shape
            for index in (1, 2)
            if site.has(index)
        )
    except ValueError:
        return False


OP = Operator(
    attrs=Normalization,
    roles=("data", "scale?", "bias?"),
    doc="layer, instance, group, RMS and Lp normalization over any axes",
    infer=lambda site: (TensorType(site.input(0).dtype, site.input(0).shape),),
    reference=_reference,
    macs=no_macs,
    constraints=(
        *only(is_plain, float_types()),
        Constraint(
            "the axes are dimensions of the data",
            _axes_fit,
            lambda site: f"{list(site.attrs.axes)} of {list(site.input(0).shape)}",
            "repair the model",
            gate=True,
        ),
        Constraint(
            "scale and bias broadcast to the data's shape",
            _factors_fit,
            lambda site: ", ".join(str(list(type_.shape)) for type_ in site.inputs if type_ is not None),
            "repair the model",
        ),
        Constraint(
            "epsilon is not negative",
            lambda site: site.attrs.epsilon >= 0,
            lambda site: f"{site.attrs.epsilon:g}",
            "repair the model",
        ),
        *only(
            is_quantized,
            *normalization_constraints(),
            Constraint(
                "quantized data is divided by its deviation or its root mean square",
                lambda site: site.attrs.norm in (Norm.VARIANCE, Norm.ROOT_MEAN_SQUARE),
                lambda site: site.attrs.norm.value,
                "leave this layer in float32",
            ),
        ),
    ),
)
