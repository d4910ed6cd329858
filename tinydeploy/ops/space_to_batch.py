"""SpaceToBatch: a padded image is dealt out to images of the batch, one per place in a block."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tinydeploy.ir import Array, Attrs, TensorType
from tinydeploy.ops.base import Constraint, Operator, Site, no_macs, operand
from tinydeploy.ops.movable import movable, size_constraint
from tinydeploy.ops.window import Pair


@dataclass(frozen=True, slots=True)
class SpaceToBatch(Attrs):
    """Image ``place * batch + n`` of the output holds the pixels at ``place`` in the blocks of image n.

    ``block`` has one extent per spatial axis (1 or 2), ``padding`` (before, after) for each; ``value`` is
    what the padding holds: the zero point where the data is quantized, as in LiteRT (TensorFlow Lite Micro
    never sets it).
    """

    block: tuple[int, ...]
    padding: tuple[Pair, ...]
    value: int | float = 0


def _infer(site: Site[SpaceToBatch]) -> tuple[TensorType, ...]:
    attrs, shape = site.attrs, site.input(0).shape
    count = len(attrs.block)
    spatial = [
        (before + extent + after) // block
        for (before, after), extent, block in zip(attrs.padding, shape[1:], attrs.block, strict=False)
    ]
    result = (shape[0] * math.prod(attrs.block), *spatial, *shape[1 + count :])
    return (TensorType(site.input(0).dtype, result),)


def _reference(site: Site[SpaceToBatch], arrays: tuple[Array | None, ...]) -> tuple[Array, ...]:
    data, attrs = operand(arrays, 0), site.attrs
    count = len(attrs.block)
    padding = ((0, 0), *attrs.padding, *((0, 0),) * (data.ndim - 1 - count))
    padded = np.pad(data, padding, constant_values=attrs.value)
    split = [padded.shape[0]]
    for extent, block in zip(padded.shape[1:], attrs.block, strict=False):
        split += [extent // block, block]
    axes = [2 + 2 * axis for axis in range(count)] + [0] + [1 + 2 * axis for axis in range(count)]
    rest = padded.shape[1 + count :]
    moved = padded.reshape(*split, *rest).transpose(*axes, *range(1 + 2 * count, 1 + 2 * count + len(rest)))
    return (np.ascontiguousarray(moved).reshape(site.outputs[0].shape),)


def _blocks_fit(site: Site[SpaceToBatch]) -> bool:
    attrs, shape = site.attrs, site.input(0).shape
    if not (len(attrs.block) == len(attrs.padding) in (1, 2) and len(shape) == 2 + len(attrs.block)):
        return False
    return all(
        block >= 1 and min(pair) >= 0 and (sum(pair) + extent) % block == 0
        for block, pair, extent in zip(attrs.block, attrs.padding, shape[1:], strict=False)
    )


OP = Operator(
    attrs=SpaceToBatch,
    roles=("data",),
    doc="blocks of pixels become images of the batch",
    infer=_infer,
    reference=_reference,
    macs=no_macs,
    constraints=(
        *movable(),
        size_constraint(),
        Constraint(
            "1 or 2 spatial axes, padded to whole blocks",
            _blocks_fit,
            lambda site: (
                f"{list(site.input(0).shape)} with {site.attrs.padding} in blocks of {site.attrs.block}"
            ),
            "repair the model",
        ),
    ),
)
