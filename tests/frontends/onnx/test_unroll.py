"""Scan and Loop: as often as they run, the body."""

from __future__ import annotations

import numpy as np
import pytest

from tests.frontends.onnx.making import gaps_of, graph_of, model_of, ops_of, run
from tinydeploy.errors import ModelError

SUMS = """g (float[2] start, float[3, 2] x) => (float[2] last, float[3, 2] all) {{
  last, all = Scan<num_scan_inputs = 1{more}, body = b (float[2] s, float[2] e) => (float[2] t, float[2] u) {{
    t = Add(s, e)  u = Identity(t) }}>(start, x) }}"""

X = np.arange(6, dtype=np.float32).reshape(3, 2)
ZERO = np.zeros(2, np.float32)


def test_scan_is_unrolled() -> None:
    graph = graph_of(model_of(SUMS.format(more="")))
    assert ops_of(graph).count("Add") == 3
    last, every = run(graph, ZERO, X)
    assert every.tolist() == np.cumsum(X, axis=0).tolist()
    assert last.tolist() == [6, 9]
    assert [graph.values[value].name for value in graph.outputs] == ["last", "all"]


def test_scan_backwards_and_along_other_axes() -> None:
    more = ", scan_input_directions = [1], scan_output_directions = [1], scan_output_axes = [1]"
    _, every = run(graph_of(model_of(SUMS.format(more=more))), ZERO, X)
    assert every.tolist() == np.cumsum(X[::-1], axis=0)[::-1].T.tolist()


POWERS = """g (float[2] x) => (float[2] y, float[N, 2] all) <int64 n = {steps}, bool go = {{1}}> {{
  y, all = Loop(n, go, x) <body = b (int64 i, bool c, float[2] s) => (bool d, float[2] t, float[2] u) {{
    f = Cast<to: int = 1>(i)  limit = Constant<value: tensor = int64 {{3}}>()  d = Less(i, limit)
    t = Add(s, f)  u = Mul(t, t) }}> }}"""


@pytest.mark.parametrize(("steps", "runs"), [("{2}", 2), ("{100}", 4)])
def test_loop_is_unrolled_until_its_count_or_its_condition_ends_it(steps: str, runs: int) -> None:
    y, every = run(graph_of(model_of(POWERS.format(steps=steps))), ZERO)
    sums = np.cumsum(np.arange(runs))
    assert y.tolist() == [sums[-1]] * 2
    assert every.tolist() == [[value**2] * 2 for value in sums]


def test_loops_that_depend_on_data_or_never_end_are_gaps() -> None:
    text = """g (int64 n, float[1] x) => (float[1] y) <bool go = {1}> {
      y = Loop(n, go, x) <body = b (int64 i, bool c, float[1] s) => (bool c2, float[1] t) {
        c2 = Identity(c)  t = Neg(s) }> }"""
    (gap,) = gaps_of(model_of(text))
    assert (gap.op, gap.reason) == ("Loop", "the number of steps is computed from the model's inputs")
    assert gap.remedy == "make the model's control flow static before export"
    fixed = text.replace("int64 n, ", "").replace("<bool go", "<int64 n = {99999}, bool go")
    (gap,) = gaps_of(model_of(fixed))
    assert gap.reason == "it makes 99999 steps; up to 1024 are unrolled"


def test_what_a_body_does_not_support_is_a_gap() -> None:
    text = SUMS.format(more="").replace("Identity(t)", "my.Foo(t)")
    assert {gap.op for gap in gaps_of(model_of(text, more=', "my": 1'))} == {"my.Foo"}


def test_bodies_that_do_not_fit_are_faults() -> None:
    with pytest.raises(ModelError, match="2 inputs, 5 of them scanned, for 2 of the body"):
        graph_of(model_of(SUMS.format(more="").replace("inputs = 1", "inputs = 5")))
    with pytest.raises(ModelError, match="scan_input_axes has 2 numbers; 1 are needed"):
        graph_of(model_of(SUMS.format(more=", scan_input_axes = [0, 0]")))
    with pytest.raises(ModelError, match="axis 7 of 2 dimensions"):
        graph_of(model_of(SUMS.format(more=", scan_input_axes = [7]")))
