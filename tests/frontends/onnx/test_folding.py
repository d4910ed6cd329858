"""Folding: what is computed at import, and the caps that keep a small file from costing much."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import helper

from tinydeploy.frontends.onnx.folding import Folder


def fold(
    op: str,
    *operands: npt.NDArray[np.generic] | None,
    opset: int = 17,
    outputs: int = 1,
    **attributes: Any,
) -> object:
    names = ["" if array is None else f"x{index}" for index, array in enumerate(operands)]
    node = helper.make_node(op, names, [f"y{index}" for index in range(outputs)], **attributes)
    results = Folder().fold(node, operands, opset)
    return None if results is None else [array.tolist() for array in results]


INTS = np.array([3, 4])


def test_what_shape_arithmetic_needs() -> None:
    assert fold("Gather", INTS, np.array(1)) == [4]
    assert fold("Concat", INTS, INTS, axis=0) == [[3, 4, 3, 4]]
    assert fold("Range", np.array(0), np.array(3), np.array(1)) == [[0, 1, 2]]
    assert fold("ConstantOfShape", INTS) == [np.zeros((3, 4)).tolist()]
    assert fold("Expand", np.array([1]), np.array([2, 2])) == [[[1, 1], [1, 1]]]
    assert fold("NonZero", np.array([0, 5])) == [[[1]]]
    assert fold("Split", INTS, axis=0, outputs=2) == [[3], [4]]
    assert fold("MatMul", np.eye(2), np.eye(2)) == [np.eye(2).tolist()]
    assert fold("Clip", INTS, None, np.array(3)) == [[3, 3]]


def test_division_by_zero_warns_nobody() -> None:
    assert fold("Div", np.array([1.0], np.float32), np.array([0.0], np.float32)) == [[np.inf]]


@pytest.mark.parametrize(
    ("op", "operands"),
    [
        ("ConstantOfShape", (np.array([100_000, 100_000]),)),
        ("ConstantOfShape", (np.array([1 << 40]),)),
        ("ConstantOfShape", (np.array([-4]),)),
        ("Range", (np.array(0), np.array(1 << 40), np.array(1))),
        ("Range", (np.array(0.0), np.array(1.0), np.array(0.0))),
        ("Expand", (np.array([1]), np.array([1 << 20, 1 << 20]))),
        ("Tile", (np.zeros(1000), np.array([1 << 30]))),
        ("Pad", (np.zeros(2), np.array([1 << 34, 0]))),
        ("OneHot", (np.array([1]), np.array(1 << 40), np.array([0, 1]))),
        ("Add", (np.zeros((10_000, 1)), np.zeros((1, 10_000)))),
        ("MatMul", (np.zeros((5000, 5000)), np.zeros((5000, 5000)))),
        ("Add", (np.zeros(2), np.zeros(3))),
        ("DequantizeLinear", (np.zeros(2, np.int8), np.float32(1))),
        ("NoSuchOperator", (np.zeros(2),)),
    ],
)
def test_what_is_too_large_wrong_or_not_to_be_folded(
    op: str, operands: tuple[npt.NDArray[np.generic], ...]
) -> None:
    assert fold(op, *operands) is None


def test_all_that_is_made_for_a_model_is_bounded() -> None:
    folder, node = Folder(), helper.make_node("ConstantOfShape", ["x"], ["y"])
    made = 0
    while folder.fold(node, [np.array([1 << 23])], 17) is not None:
        made += 1
        assert made < 100
    assert made == 16
