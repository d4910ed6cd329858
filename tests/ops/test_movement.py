"""The table of operators that only move elements: what passes through them."""

from __future__ import annotations

import pytest

from tinydeploy.ir import Attrs
from tinydeploy.kernels.move.regions import NESTS
from tinydeploy.ops import OPS
from tinydeploy.ops.add import Add
from tinydeploy.ops.concatenation import Concatenation
from tinydeploy.ops.gather import Gather
from tinydeploy.ops.movement import MOVES, fill_of, moved_inputs, with_fill
from tinydeploy.ops.pad import Border, Pad
from tinydeploy.ops.resize import Method, Resize
from tinydeploy.ops.scatter import Reduction
from tinydeploy.ops.scatter_nd import ScatterND


def test_every_move_is_an_operator_that_says_which_inputs_it_moves() -> None:
    for attrs, move in MOVES.items():
        assert OPS[attrs.__name__].attrs is attrs
        roles = OPS[attrs.__name__].roles
        assert move.inputs is None or all(index < len(roles) for index in move.inputs)
    assert set(NESTS) <= set(MOVES)


@pytest.mark.parametrize(
    ("attrs", "count", "inputs"),
    [
        (Concatenation(0), 3, (0, 1, 2)),
        (Gather(0), 2, (0,)),
        (ScatterND(), 3, (0, 2)),
        (ScatterND(Reduction.ADD), 3, ()),
        (Resize((2, 2), Method.NEAREST), 1, (0,)),
        (Resize((2, 2), Method.BILINEAR), 1, ()),
        (Add(), 2, ()),
    ],
)
def test_inputs_that_move(attrs: Attrs, count: int, inputs: tuple[int, ...]) -> None:
    assert moved_inputs(attrs, count) == inputs


def test_values_of_borders() -> None:
    pad = Pad(((1, 1),), value=0.5)
    assert fill_of(pad) == 0.5
    assert with_fill(pad, -3) == Pad(((1, 1),), value=-3)
    assert fill_of(Pad(((1, 1),), Border.EDGE)) is None
    assert fill_of(Concatenation(0)) is None
    with pytest.raises(ValueError, match="Concatenation has no border"):
        with_fill(Concatenation(0), 1)
