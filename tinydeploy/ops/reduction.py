"""What the reductions share: axes, output shape, limits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from tinydeploy.ir import Array, DType, TensorType
from tinydeploy.ops.base import AnyConstraint, AnySite, Constraint, only
from tinydeploy.ops.blend import is_twice
from tinydeploy.ops.plain import NUMBERS, plain_types
from tinydeploy.ops.quantized import describe, int8_activations, is_quantized


class ReductionAttrs(Protocol):
    """The attributes of any reduction; ``axes`` are ascending, from 0 on."""

    @property
    def axes(self) -> tuple[int, ...]: ...
    @property
    def keep_dims(self) -> bool: ...


def reduced_shape(site: AnySite) -> tuple[int, ...]:
    attrs: ReductionAttrs = site.attrs
    shape = site.input(0).shape
    if attrs.keep_dims:
        return tuple(1 if axis in attrs.axes else extent for axis, extent in enumerate(shape))
    return tuple(extent for axis, extent in enumerate(shape) if axis not in attrs.axes)


def reduction_infer(site: AnySite) -> tuple[TensorType, ...]:
    return (TensorType(site.input(0).dtype, reduced_shape(site)),)


def elements_of(site: AnySite) -> int:
    """How many elements become one."""
    attrs: ReductionAttrs = site.attrs
    return math.prod(site.input(0).shape[axis] for axis in attrs.axes)


def peak_of(site: AnySite) -> int:
    """The largest size of a sum of steps minus their zero point."""
    return ((1 << site.input(0).dtype.bits) - 1) * elements_of(site)


def axes_constraint() -> AnyConstraint:
    def hold(site: AnySite) -> bool:
        axes, rank = site.attrs.axes, len(site.input(0).shape)
        return list(axes) == sorted(set(axes)) and all(0 <= axis < rank for axis in axes)

    return Constraint(
        "the axes are dimensions of the input",
        hold,
        lambda site: f"{list(site.attrs.axes)} of {list(site.input(0).shape)}",
        "repair the model",
        gate=True,
    )


def reduction_constraints(types: Sequence[DType] = NUMBERS) -> tuple[AnyConstraint, ...]:
    """Limits of the reductions of steps to steps, or of plain elements of one of ``types``."""
    return (*only(is_twice, int8_activations(0)), *plain_types(types, 0), axes_constraint())


def index_constraints() -> tuple[AnyConstraint, ...]:
    """Limits of the reductions to an index: of int8 steps or plain numbers."""
    return (
        axes_constraint(),
        *plain_types(NUMBERS, 0, same_output=False),
        Constraint(
            "the input is int8 where it is quantized, the result int32 or int64, and one axis is searched",
            lambda site: (
                (site.input(0).dtype is DType.INT8 or not is_quantized(site))
                and site.attrs.index in (DType.INT32, DType.INT64)
                and len(site.attrs.axes) == 1
            ),
            lambda site: f"{describe(site.input(0))}, {site.attrs.index.value}, {site.attrs.axes}",
            "convert the model with full int8 quantization and an int32 result",
        ),
    )


def found_index(site: AnySite, data: Array, best: Array) -> Array:
    """The place along the searched axis of the elements that equal ``best``: the first, or the last."""
    axis = site.attrs.axes[0]
    equal = data == best
    if not site.attrs.select_last:
        return np.asarray(np.argmax(equal, axis=axis))
    return np.asarray(data.shape[axis] - 1 - np.argmax(np.flip(equal, axis), axis=axis))


def axis_constraint() -> AnyConstraint:
    """The attribute ``axis`` is a dimension of the input, from 0 on."""
    return Constraint(
        "the axis is a dimension of the input",
        lambda site: 0 <= site.attrs.axis < len(site.input(0).shape),
        lambda site: f"{site.attrs.axis} of {list(site.input(0).shape)}",
        "repair the model",
        gate=True,
    )
