"""Which operators only move elements: every element of the output is one of an input, or a border's value.

For such an operator it does not matter what the elements stand for. A layout can pass through it, and so can
a quantization: Dequantize, move, Quantize with equal scales is the move of the steps.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tinydeploy.ir import Attrs
from tinydeploy.ops.batch_to_space import BatchToSpace
from tinydeploy.ops.concatenation import Concatenation
from tinydeploy.ops.depth_to_space import DepthToSpace
from tinydeploy.ops.expand import Expand
from tinydeploy.ops.gather import Gather
from tinydeploy.ops.gather_elements import GatherElements
from tinydeploy.ops.gather_nd import GatherND
from tinydeploy.ops.pad import Border, Pad
from tinydeploy.ops.reshape import Reshape
from tinydeploy.ops.resize import Method, Resize
from tinydeploy.ops.reverse_sequence import ReverseSequence
from tinydeploy.ops.scatter import Reduction
from tinydeploy.ops.scatter_elements import ScatterElements
from tinydeploy.ops.scatter_nd import ScatterND
from tinydeploy.ops.slice import Slice
from tinydeploy.ops.space_to_batch import SpaceToBatch
from tinydeploy.ops.space_to_depth import SpaceToDepth
from tinydeploy.ops.take import Take
from tinydeploy.ops.tile import Tile
from tinydeploy.ops.transpose import Transpose


@dataclass(frozen=True, slots=True)
class Move:
    """``inputs`` are those whose elements the output holds (None: all of them); the others are indices.

    ``when`` tells whether attributes make a pure move of the operator; ``fill`` names the attribute that
    holds a border's value.
    """

    inputs: tuple[int, ...] | None = (0,)
    when: Callable[[Any], bool] | None = None
    fill: str | None = None


def _replaces(attrs: ScatterElements | ScatterND) -> bool:
    return attrs.reduction is Reduction.NONE


MOVES: dict[type[Attrs], Move] = {
    BatchToSpace: Move(),
    Concatenation: Move(inputs=None),
    DepthToSpace: Move(),
    Expand: Move(),
    Gather: Move(),
    GatherElements: Move(),
    GatherND: Move(),
    Pad: Move(fill="value"),
    Reshape: Move(),
    Resize: Move(when=lambda attrs: attrs.method is Method.NEAREST),
    ReverseSequence: Move(),
    ScatterElements: Move(inputs=(0, 2), when=_replaces),
    ScatterND: Move(inputs=(0, 2), when=_replaces),
    Slice: Move(),
    SpaceToBatch: Move(fill="value"),
    SpaceToDepth: Move(),
    Take: Move(),
    Tile: Move(),
    Transpose: Move(),
}
"""The operators that move; Reshape is the one that is a view."""


def moved_inputs(attrs: Attrs, count: int) -> tuple[int, ...]:
    """Which of a node's ``count`` inputs hold elements that it moves; none where it is no pure move."""
    move = MOVES.get(type(attrs))
    if move is None or (move.when is not None and not move.when(attrs)):
        return ()
    return tuple(range(count)) if move.inputs is None else move.inputs


def fill_of(attrs: Attrs) -> int | float | None:
    """The value that a move writes beside the elements it moves: None where it writes none."""
    move = MOVES.get(type(attrs))
    if move is None or move.fill is None:
        return None
    if isinstance(attrs, Pad) and attrs.border is not Border.CONSTANT:
        return None
    value: int | float = getattr(attrs, move.fill)
    return value


def with_fill(attrs: Attrs, value: int | float) -> Attrs:
    """The same move with another value in its border: the step of a real number, or the other way round."""
    move = MOVES[type(attrs)]
    if move.fill is None:
        raise ValueError(f"{type(attrs).__name__} has no border")
    return dataclasses.replace(attrs, **{move.fill: value})  # type: ignore[type-var]
