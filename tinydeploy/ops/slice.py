"""Slice: every n-th element of a box of the input, backwards too; axes of extent 1 may go."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.movable import movable


@dataclass(frozen=True, slots=True)
class Slice(Attrs):
    """Along axis i the elements ``begin[i] + k * stride[i]`` for k below ``size[i]``.

    Axes in ``dropped`` have size 1 and are not in the output. Elements are copied as they are, whatever the
    output's quantization says: TFLite's SPLIT does so.
    """

    begin: tuple[int, ...]
    size: tuple[int, ...]
    stride: tuple[int, ...]
    dropped: tuple[int, ...] = ()


def _infer(site: Site[Slice]) -> tuple[TensorType, ...]:
    shape = tuple(extent for axis, extent in enumerate(site.attrs.size) if axis not in site.attrs.dropped)
    return (TensorType(site.input(0).dtype, shape),)


def _reference(site: Site[Slice], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    attrs = site.attrs
    result = operand(arrays, 0)
    for axis, (begin, size, stride) in enumerate(zip(attrs.begin, attrs.size, attrs.stride, strict=True)):
        result = result.take(range(begin, begin + size * stride, stride), axis=axis)
    return (result.reshape(site.outputs[0].shape),)


def _inside(site: Site[Slice]) -> bool:
    attrs, shape = site.attrs, site.input(0).shape
    if not len(attrs.begin) == len(attrs.size) == len(attrs.stride) == len(shape):
        return False
    return all(
        size >= 1 and stride != 0 and 0 <= begin < extent and 0 <= begin + (size - 1) * stride < extent
        for begin, size, stride, extent in zip(attrs.begin, attrs.size, attrs.stride, shape, strict=True)
    )


OP = Operator(
    attrs=Slice,
    roles=("data",),
    doc="every n-th element of a box, forwards or backwards",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        *movable(same_quant=False),
        Constraint(
            "the box lies inside the input and is not empty",
            _inside,
            lambda site: f"from {site.attrs.begin}, size {site.attrs.size}, of {list(site.input(0).shape)}",
            "repair the model",
        ),
    ),
)
