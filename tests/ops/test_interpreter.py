"""The interpreter: inputs are checked, states last, every value can be seen; and types are verified."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from tests.ir.graphs import chain, pair_type
from tinydeploy.errors import GraphError, TinyDeployError
from tinydeploy.ir import Attrs, DType, Graph, Rewriter, TensorType
from tinydeploy.ops import check, site_of
from tinydeploy.ops.add import Add
from tinydeploy.ops.interpreter import Interpreter


def test_every_value_can_be_seen() -> None:
    graph = chain()
    data = np.array([[10, -10]], np.int8)
    arrays = Interpreter(graph).run_all([data])
    assert arrays.keys() == {0, 1, 2, 3}
    assert arrays[2].tolist() == [[11, -8]]
    (result,) = Interpreter(graph).run([data])
    assert result.tolist() == arrays[3].tolist()


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ([], "0 inputs given, the model has 1"),
        (
            [np.zeros((2, 1), np.int8)],
            r"input 0 is int8\[2, 1\], the model wants int8\[1, 2\]. Reshape or convert the array",
        ),
        ([np.zeros((1, 2), np.float32)], r"input 0 is float32\[1, 2\], the model wants int8\[1, 2\]"),
    ],
)
def test_inputs_are_checked(inputs: list[np.ndarray], words: str) -> None:
    with pytest.raises(TinyDeployError, match=words):
        Interpreter(chain()).run(inputs)


def counter() -> Graph:
    edit = Rewriter.empty("counter")
    step = edit.input("step", pair_type())
    before = edit.free_value("count", pair_type())
    (after,) = edit.node("sum", Add(), (before, step), (("next", pair_type()),))
    edit.state(before, after, np.array([[0, 100]], np.int8))
    edit.output(after)
    return edit.freeze()


def test_states_last_until_reset() -> None:
    interpreter = Interpreter(counter())
    step = np.array([[1, 20]], np.int8)
    assert [interpreter.run([step])[0].tolist() for _ in range(3)] == [[[1, 120]], [[2, 127]], [[3, 127]]]
    interpreter.reset()
    assert interpreter.run([step])[0].tolist() == [[1, 120]]


@dataclass(frozen=True, slots=True)
class Strange(Attrs):
    """Not in the table of operators."""


def test_types_are_verified() -> None:
    edit = Rewriter.empty("wrong")
    data = edit.input("data", pair_type())
    (total,) = edit.node("sum", Add(), (data, data), (("total", TensorType(DType.INT16, (2,))),))
    edit.output(total)
    expected = r"node 'sum' \(Add\): outputs are int16\[2\], the inputs imply int8\[1, 2\]"
    with pytest.raises(GraphError, match=expected):
        check.verify(edit.freeze())
    edit = Rewriter.empty("wrong")
    edit.output(edit.node("s", Strange(), (), (("y", pair_type()),))[0])
    with pytest.raises(GraphError, match=r"node 's' \(Strange\): unknown operator"):
        check.verify(edit.freeze())


def test_a_missing_input_is_named() -> None:
    edit = Rewriter.empty("g")
    edit.output(edit.node("n", Add(), (None,), (("y", pair_type()),))[0])
    graph = edit.freeze()
    with pytest.raises(GraphError, match="node 'n': input 1 is missing"):
        site_of(graph, 0).input(1)
    with pytest.raises(GraphError, match=r"node 'n' \(Add\): needs the inputs a, b, got 0"):
        check.verify(graph)
