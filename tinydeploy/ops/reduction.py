"""What the reductions share: axes, output shape, limits."""

from __future__ import annotations

import math
from typing import Protocol

from tinydeploy.ir import DType, TensorType
from tinydeploy.ops.base import AnyConstraint, AnySite, Constraint
from tinydeploy.ops.quantized import int8_activations


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


def reduction_constraints() -> tuple[AnyConstraint, ...]:
    """Limits of the reductions from int8 to int8."""
    return (int8_activations(0), axes_constraint())


def index_constraints() -> tuple[AnyConstraint, ...]:
    """Limits of the reductions from int8 to an index."""
    return (
        axes_constraint(),
        Constraint(
            "the input is int8, the result int32, and one axis is searched",
            lambda site: (
                site.input(0).dtype is DType.INT8
                and site.outputs[0].dtype is DType.INT32
                and len(site.attrs.axes) == 1
            ),
            lambda site: f"{site.input(0).dtype.value}, {site.outputs[0].dtype.value}, {site.attrs.axes}",
            "convert the model with full int8 quantization and an int32 result",
        ),
    )
