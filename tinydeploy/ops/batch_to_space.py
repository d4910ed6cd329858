"""BatchToSpace: images of the batch become blocks of pixels of one, then its borders are cut off."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.movable import movable
from tinydeploy.ops.window import Pair


@dataclass(frozen=True, slots=True)
class BatchToSpace(Attrs):
    """The reverse of SpaceToBatch; ``crops`` are cut off (before, after) along each spatial axis."""

    block: tuple[int, ...]
    crops: tuple[Pair, ...]


def _infer(site: Site[BatchToSpace]) -> tuple[TensorType, ...]:
    attrs, shape = site.attrs, site.input(0).shape
    spatial = [
        extent * block - before - after
        for (before, after), extent, block in zip(attrs.crops, shape[1:], attrs.block, strict=False)
    ]
    result = (shape[0] // math.prod(attrs.block), *spatial, *shape[1 + len(attrs.block) :])
    return (TensorType(site.input(0).dtype, result),)


def _reference(site: Site[BatchToSpace], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    data, attrs = operand(arrays, 0), site.attrs
    count = len(attrs.block)
    batch, rest = data.shape[0] // math.prod(attrs.block), data.shape[1 + count :]
    split = data.reshape(*attrs.block, batch, *data.shape[1:])
    axes = [count]
    for axis in range(count):
        axes += [count + 1 + axis, axis]
    axes += range(2 * count + 1, 2 * count + 1 + len(rest))
    whole = [extent * block for extent, block in zip(data.shape[1:], attrs.block, strict=False)]
    image = split.transpose(axes).reshape(batch, *whole, *rest)
    cut = tuple(slice(a, extent - b) for (a, b), extent in zip(attrs.crops, whole, strict=True))
    return (np.ascontiguousarray(image[(slice(None), *cut)]),)


def _blocks_fit(site: Site[BatchToSpace]) -> bool:
    attrs, shape = site.attrs, site.input(0).shape
    if not (len(attrs.block) == len(attrs.crops) in (1, 2) and len(shape) == 2 + len(attrs.block)):
        return False
    return (
        min(attrs.block) >= 1
        and shape[0] % math.prod(attrs.block) == 0
        and all(
            min(pair) >= 0 and sum(pair) < extent * block
            for block, pair, extent in zip(attrs.block, attrs.crops, shape[1:], strict=False)
        )
    )


OP = Operator(
    attrs=BatchToSpace,
    roles=("data",),
    doc="images of the batch become blocks of pixels",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        *movable(),
        Constraint(
            "1 or 2 spatial axes, a batch of whole blocks, and crops that leave something",
            _blocks_fit,
            lambda site: (
                f"{list(site.input(0).shape)} in blocks of {site.attrs.block}, crops {site.attrs.crops}"
            ),
            "repair the model",
        ),
    ),
)
