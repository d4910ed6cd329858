"""SpaceToDepth: blocks of pixels become channels."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.movement import movable


@dataclass(frozen=True, slots=True)
class SpaceToDepth(Attrs):
    """A block of ``block`` x ``block`` pixels of an image NHWC becomes one pixel, row by row."""

    block: int


def _infer(site: Site[SpaceToDepth]) -> tuple[TensorType, ...]:
    batch, height, width, channels = site.input(0).shape
    block = site.attrs.block
    shape = (batch, height // block, width // block, channels * block * block)
    return (TensorType(site.input(0).dtype, shape),)


def _reference(site: Site[SpaceToDepth], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    batch, height, width, channels = site.input(0).shape
    block = site.attrs.block
    split = operand(arrays, 0).reshape(batch, height // block, block, width // block, block, channels)
    return (split.transpose(0, 1, 3, 2, 4, 5).reshape(site.outputs[0].shape),)


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
