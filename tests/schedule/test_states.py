"""State variables: kept between runs, replaced together at the end of one, restored by a reset."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.running import assert_bit_exact
from tinydeploy.build import compile_graph
from tinydeploy.errors import GraphError
from tinydeploy.ir import DType, Graph, Quant, Rewriter, TensorType
from tinydeploy.kernels.targets import target_of
from tinydeploy.ops.add import Add
from tinydeploy.ops.interpreter import Interpreter

STEPS = TensorType(DType.INT8, (1, 5), Quant((0.25,), (3,)))


def accumulator() -> Graph:
    """The sum of all inputs so far, from a start of uneven bytes, and the input of the run before."""
    rewriter = Rewriter.empty("accumulator")
    data = rewriter.input("x", STEPS)
    total = rewriter.free_value("total", STEPS)
    (new_total,) = rewriter.node("sum", Add(), (data, total), (("y", STEPS),))
    rewriter.output(new_total)
    rewriter.state(total, new_total, np.arange(5, dtype=np.int8).reshape(1, 5))
    last = rewriter.free_value("last", STEPS)
    before_last = rewriter.free_value("before last", STEPS)
    (delayed,) = rewriter.node("delayed", Add(), (last, before_last), (("z", STEPS),))
    rewriter.output(delayed)
    # The line before the one that it is copied from: the order of the copies matters.
    rewriter.state(last, data, np.full((1, 5), 3, np.int8))
    rewriter.state(before_last, last, np.full((1, 5), 3, np.int8))
    return rewriter.freeze()


def test_the_generated_code_keeps_its_state_as_the_reference_does(tmp_path: Path) -> None:
    compiled = compile_graph(accumulator(), target_of("host"))
    assert_bit_exact(compiled, tmp_path, samples=6)
    header = compiled.library.files["accumulator.h"]
    assert "#define ACCUMULATOR_STATE_BYTES 15u" in header
    assert "the arena is this model's alone" in header


def test_a_reset_restores_the_initial_values() -> None:
    graph = accumulator()
    interpreter = Interpreter(graph)
    sample = (np.full((1, 5), 4, np.int8),)
    first = interpreter.run(sample)
    again = interpreter.run(sample)
    interpreter.reset()
    assert not np.array_equal(first[0], again[0])
    assert np.array_equal(interpreter.run(sample)[0], first[0])


def test_variables_that_exchange_their_values_are_refused() -> None:
    rewriter = Rewriter.empty("swap")
    data = rewriter.input("x", STEPS)
    a, b = rewriter.free_value("a", STEPS), rewriter.free_value("b", STEPS)
    (result,) = rewriter.node("sum", Add(), (data, a), (("y", STEPS),))
    rewriter.output(result)
    rewriter.state(a, b, np.zeros((1, 5), np.int8))
    rewriter.state(b, a, np.zeros((1, 5), np.int8))
    with pytest.raises(GraphError, match="state variables exchange their values"):
        compile_graph(rewriter.freeze(), target_of("host"))
