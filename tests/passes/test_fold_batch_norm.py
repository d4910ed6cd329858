"""Factors and offsets per channel go into the layer before, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest

from tinydeploy.ir import Array, Attrs, DType, Graph, Rewriter, TensorType
from tinydeploy.ops.add import Add
from tinydeploy.ops.conv_2d import Conv2D
from tinydeploy.ops.depthwise_conv_2d import DepthwiseConv2D
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.ops.mul import Mul
from tinydeploy.ops.quantized import Activation
from tinydeploy.ops.sub import Sub
from tinydeploy.passes import fold_batch_norm, run_passes
from tinydeploy.passes.pipeline import Pass

RANDOM = np.random.default_rng(0)


def chain(
    attrs: Attrs, *after: tuple[Attrs, Array], bias: bool = True, swap: bool = False, twice: bool = False
) -> Graph:
    """A layer of 4 channels and operations with constants behind it."""
    rewriter = Rewriter.empty("chain")
    value = rewriter.input("x", TensorType(DType.FLOAT32, (1, 3, 3, 4)))
    shape = (1, 1, 1, 4) if isinstance(attrs, DepthwiseConv2D) else (4, 1, 1, 4)

    def constant(name: str, array: Array) -> int:
        array = array.astype(np.float32)
        return rewriter.constant(name, TensorType(DType.FLOAT32, array.shape), array)

    operands: tuple[int, ...] = (value, constant("w", RANDOM.standard_normal(shape)))
    if bias:
        operands = (*operands, constant("b", RANDOM.standard_normal(4)))
    image = TensorType(DType.FLOAT32, (1, 3, 3, 4))
    (value,) = rewriter.node("layer", attrs, operands, (("layer", image),))
    if twice:
        rewriter.output(value)
    for index, (then, array) in enumerate(after):
        other = constant(f"c{index}", array)
        pair = (other, value) if swap else (value, other)
        (value,) = rewriter.node(f"then{index}", then, pair, ((f"then{index}", image),))
    rewriter.output(value)
    return rewriter.freeze()


PER_CHANNEL = RANDOM.standard_normal((1, 1, 4))
FOLDED = {
    "batch norm": chain(Conv2D(), (Mul(), PER_CHANNEL), (Add(), RANDOM.standard_normal(4))),
    "depthwise": chain(DepthwiseConv2D(), (Mul(), PER_CHANNEL), (Sub(), PER_CHANNEL), bias=False),
    "constants first": chain(Conv2D(), (Mul(), PER_CHANNEL), (Add(), PER_CHANNEL), swap=True),
    "a number": chain(
        Conv2D(), (Mul(), np.array(0.5)), (Add(activation=Activation.RELU), np.array([[0.25]]))
    ),
}


@pytest.mark.parametrize("name", FOLDED)
def test_the_layer_computes_the_same_alone(name: str) -> None:
    graph = FOLDED[name]
    folded = run_passes(graph, (Pass("fold-batch-norm", fold_batch_norm),))
    assert len(folded.nodes) == 1
    data = RANDOM.standard_normal((1, 3, 3, 4)).astype(np.float32)
    np.testing.assert_allclose(
        Interpreter(folded).run((data,))[0], Interpreter(graph).run((data,))[0], rtol=1e-5, atol=1e-6
    )


KEPT = {
    "after a clamp": chain(Conv2D(activation=Activation.RELU), (Mul(), PER_CHANNEL)),
    "two readers": chain(Conv2D(), (Mul(), PER_CHANNEL), twice=True),
    "per pixel": chain(Conv2D(), (Mul(), RANDOM.standard_normal((3, 1)))),
    "constant minus layer": chain(Conv2D(), (Sub(), PER_CHANNEL), swap=True),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_does_not_commute_stays(name: str) -> None:
    assert fold_batch_norm(KEPT[name]) is KEPT[name]
