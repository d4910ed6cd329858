"""DepthToSpace: channels become blocks of pixels."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.movable import movable


@dataclass(frozen=True, slots=True)
class DepthToSpace(Attrs):
    """A pixel of an image NHWC becomes a block of ``block`` x ``block`` pixels, row by row.

    The channels of one pixel of the block are neighbours, or, with ``interleaved``, those of all its pixels
    alternate (ONNX's mode CRD).
    """

    block: int
    interleaved: bool = False


def split_axes(site: Site[DepthToSpace]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The input's shape with its channels split, and the order of its axes in the output: N H by W bx C."""
    batch, height, width, channels = site.input(0).shape
    block = site.attrs.block
    rest = channels // (block * block)
    if site.attrs.interleaved:
        return (batch, height, width, rest, block, block), (0, 1, 4, 2, 5, 3)
    return (batch, height, width, block, block, rest), (0, 1, 3, 2, 4, 5)


def _infer(site: Site[DepthToSpace]) -> tuple[TensorType, ...]:
    batch, height, width, channels = site.input(0).shape
    block = site.attrs.block
    shape = (batch, height * block, width * block, channels // (block * block))
    return (TensorType(site.input(0).dtype, shape),)


def _reference(site: Site[DepthToSpace], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    shape, order = split_axes(site)
    return (operand(arrays, 0).reshape(shape).transpose(order).reshape(site.outputs[0].shape),)


OP = Operator(
    attrs=DepthToSpace,
    roles=("data",),
    doc="channels become blocks of pixels",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        *movable(),
        Constraint(
            "the input is an image whose channels make whole blocks",
            lambda site: (
                len(site.input(0).shape) == 4
                and site.attrs.block >= 1
                and site.input(0).shape[3] % site.attrs.block**2 == 0
            ),
            lambda site: f"{list(site.input(0).shape)} in blocks of {site.attrs.block}",
            "repair the model",
        ),
    ),
)
