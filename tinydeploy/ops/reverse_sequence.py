"""ReverseSequence: of each sequence of a batch the first elements backwards, as many as it is long."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.indexing import index_constraint
from tinydeploy.ops.movable import movable


@dataclass(frozen=True, slots=True)
class ReverseSequence(Attrs):
    """``lengths[b]`` elements along ``time_axis`` change their order; lengths outside are cut to 0 or all."""

    batch_axis: int
    time_axis: int


def _infer(site: Site[ReverseSequence]) -> tuple[TensorType, ...]:
    return (TensorType(site.input(0).dtype, site.input(0).shape),)


def _reference(site: Site[ReverseSequence], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    data, attrs = operand(arrays, 0), site.attrs
    steps = data.shape[attrs.time_axis]
    lengths = np.clip(operand(arrays, 1).astype(np.int64), 0, steps)[:, None]
    time = np.arange(steps)
    places = np.where(time < lengths, lengths - 1 - time, time)
    shape = [1] * data.ndim
    shape[attrs.batch_axis], shape[attrs.time_axis] = places.shape
    ordered = places if attrs.batch_axis < attrs.time_axis else places.T
    return (np.take_along_axis(data, ordered.reshape(shape), attrs.time_axis),)


def _axes_fit(site: Site[ReverseSequence]) -> bool:
    shape, attrs = site.input(0).shape, site.attrs
    axes = (attrs.batch_axis, attrs.time_axis)
    return (
        all(0 <= axis < len(shape) for axis in axes)
        and axes[0] != axes[1]
        and site.input(1).shape == (shape[axes[0]],)
    )


OP = Operator(
    attrs=ReverseSequence,
    roles=("data", "lengths"),
    doc="the beginning of each sequence of a batch backwards",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        *movable(),
        index_constraint(1),
        Constraint(
            "batch and time are two axes of the data, and there is a length for each sequence",
            _axes_fit,
            lambda site: (
                f"axes {site.attrs.batch_axis} and {site.attrs.time_axis} of {list(site.input(0).shape)}, "
                f"lengths {list(site.input(1).shape)}"
            ),
            "repair the model",
        ),
    ),
)
