"""DepthToSpace: channels become blocks of pixels."""

from __future__ import annotations

from dataclasses import dataclass

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.movement import movable


@dataclass(frozen=True, slots=True)
class DepthToSpace(Attrs):
    """A pixel of an image NHWC becomes a block of ``block`` x ``block`` pixels, row by row."""

    block: int


def _infer(site: Site[DepthToSpace]) -> tuple[TensorType, ...]:
    batch, height, width, channels = site.input(0).shape
    block = site.attrs.block
    shape = (batch, height * block, width * block, channels // (block * block))
    return (TensorType(site.input(0).dtype, shape),)


def _reference(site: Site[DepthToSpace], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    batch, height, width, channels = site.input(0).shape
    block = site.attrs.block
    split = operand(arrays, 0).reshape(batch, height, width, block, block, channels // (block * block))
    return (split.transpose(0, 1, 3, 2, 4, 5).reshape(site.outputs[0].shape),)


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
