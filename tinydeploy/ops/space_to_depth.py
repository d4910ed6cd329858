"""SpaceToDepth: blocks of pixels become channels."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.movable import movable


@dataclass(frozen=True, slots=True)
class SpaceToDepth(Attrs):
    """A block of ``block`` x ``block`` pixels of an image NHWC becomes one pixel, row by row.

    The channels of each pixel of the block stay neighbours, or, with ``interleaved``, those of all its pixels
    alternate.
    """

    block: int
    interleaved: bool = False


def split_axes(site: Site[SpaceToDepth]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The input's shape with its blocks split off, N H by W bx C, and the order of its axes in the output."""
    batch, height, width, channels = site.input(0).shape
    block = site.attrs.block
    shape = (batch, height // block, block, width // block, block, channels)
    return shape, (0, 1, 3, 5, 2, 4) if site.attrs.interleaved else (0, 1, 3, 2, 4, 5)


def _infer(site: Site[SpaceToDepth]) -> tuple[TensorType, ...]:
    batch, height, width, channels = site.input(0).shape
    block = site.attrs.block
    shape = (batch, height // block, width // block, channels * block * block)
    return (TensorType(site.input(0).dtype, shape),)


def _reference(site: Site[SpaceToDepth], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    shape, order = split_axes(site)
    return (operand(arrays, 0).reshape(shape).transpose(order).reshape(site.outputs[0].shape),)


def _blocks_fit(site: Site[SpaceToDepth]) -> bool:
    shape, block = site.input(0).shape, site.attrs.block
    return len(shape) == 4 and block >= 1 and shape[1] % block == 0 and shape[2] % block == 0


OP = Operator(
    attrs=SpaceToDepth,
    roles=("data",),
    doc="blocks of pixels become channels",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        *movable(),
        Constraint(
            "the input is an image of whole blocks",
            _blocks_fit,
            lambda site: f"{list(site.input(0).shape)} in blocks of {site.attrs.block}",
            "repair the model",
        ),
    ),
)
