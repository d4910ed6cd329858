"""Float graphs are compared within a tolerance, on the host and over the line; state starts from reset."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import pytest

from tinydeploy.build import Compiled, compile_graph
from tinydeploy.device import verify_device
from tinydeploy.ir import Array, DType, Graph, Rewriter, TensorType
from tinydeploy.kernels.targets import target_of
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.ops.lstm import Lstm
from tinydeploy.ops.reshape import Reshape
from tinydeploy.ops.rnn import Rnn
from tinydeploy.rpc import Client
from tinydeploy.verify import Comparison, compare, make_samples
from tinydeploy.verify.samples import Sample

HOST = target_of("host")


def float_graph(*, stateful: bool = False) -> Graph:
    """An RNN over three steps, its state from the run before where ``stateful``; then an LSTM."""
    generator = np.random.default_rng(0)
    edit = Rewriter.empty("m")
    types = {"x": (3, 1, 2), "w": (1, 4, 2), "r": (1, 4, 4), "w4": (1, 8, 4), "r4": (1, 8, 2), "h": (1, 1, 4)}
    kinds = {name: TensorType(DType.FLOAT32, shape) for name, shape in types.items()}
    x = edit.input("x", kinds["x"])
    data = {
        name: edit.constant(name, kinds[name], generator.standard_normal(types[name]).astype(np.float32))
        for name in ("w", "r", "w4", "r4")
    }
    before = edit.free_value("before", kinds["h"]) if stateful else None
    sequence, last = edit.node(
        "rnn",
        Rnn(),
        (x, data["w"], data["r"], None, None, before),
        (("sequence", TensorType(DType.FLOAT32, (3, 1, 1, 4))), ("last", kinds["h"])),
    )
    if before is not None:
        edit.state(before, last, np.zeros(types["h"], np.float32))
    flat = TensorType(DType.FLOAT32, (3, 1, 4))
    (rows,) = edit.node("reshape", Reshape((3, 1, 4)), (sequence,), (("rows", flat),))
    state = TensorType(DType.FLOAT32, (1, 1, 2))
    for value in edit.node(
        "lstm",
        Lstm(),
        (rows, data["w4"], data["r4"]),
        (("y", TensorType(DType.FLOAT32, (3, 1, 1, 2))), ("h", state), ("c", state)),
    ):
        edit.output(value)
    return edit.freeze()


@dataclass
class Answer:
    outputs: tuple[Array, ...]
    instances: tuple[bytes, ...]


def answers(compiled: Compiled, samples: list[Sample], change: dict[int, float]) -> list[Answer]:
    """What the reference gives, with the last number of some instances moved by ``change``."""
    interpreter = Interpreter(compiled.graph)
    found = []
    for sample in samples:
        arrays = interpreter.run_all(sample)
        instances = []
        for number, call in enumerate(compiled.program.calls()):
            parts = [arrays[value].copy() for value in call.outputs]
            parts[-1].reshape(-1)[-1] += np.float32(change.get(number, 0))
            instances.append(b"".join(part.tobytes() for part in parts))
        outputs = tuple(arrays[value] for value in compiled.graph.outputs)
        found.append(Answer(outputs, tuple(instances)))
    return found


def compared(change: dict[int, float]) -> Comparison:
    compiled = compile_graph(float_graph(), HOST, name="m")
    samples = make_samples(compiled.graph, 3)
    return compare(compiled.program, samples, answers(compiled, samples, change))


def test_small_differences_pass() -> None:
    found = compared({0: 1e-6, 1: 2e-6})
    assert found.passed
    assert (found.bit_exact, found.tolerance) == (None, 1e-5)
    assert found.worst is not None
    assert found.worst.relative > 1e-6
    assert found.worst.name in ("rnn", "lstm")


def test_the_first_step_beyond_the_tolerance_is_named() -> None:
    found = compared({0: 1e-6, 1: 0.1})
    assert not found.passed
    assert found.first_bad_step is not None
    assert (found.first_bad_step.name, found.first_bad_step.op) == ("lstm", "Lstm")
    assert found.first_bad_step.row == 2  # the third result, behind the one row of the first and the second
    assert found.worst is not None
    assert found.worst.name == "lstm"


@dataclass
class Board:
    """A client whose board is the reference, with an error of its own; remembers what it was asked."""

    compiled: Compiled
    error: float
    where: str = "board"
    calls: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._interpreter = Interpreter(self.compiled.graph)

    def describe(self) -> Any:
        @dataclass
        class Description:
            hash: int
            instances: int
            name: str = "m"

        return Description(int(self.compiled.library.hash, 16), len(list(self.compiled.program.calls())))

    def reset_model(self) -> None:
        self.calls.append("reset")
        self._interpreter.reset()

    def infer(self, inputs: Sample) -> Any:
        self.calls.append("infer")

        @dataclass
        class Inference:
            outputs: tuple[Array, ...]

        return Inference(tuple(array + np.float32(self.error) for array in self._interpreter.run(inputs)))


@pytest.mark.parametrize("stateful", [False, True])
@pytest.mark.parametrize(("error", "passes"), [(1e-7, True), (0.01, False)])
def test_outputs_of_a_board(stateful: bool, error: float, passes: bool) -> None:
    compiled = compile_graph(float_graph(stateful=stateful), HOST, name="m")
    board = Board(compiled, error)
    found = verify_device(cast(Client, board), compiled, make_samples(compiled.graph, 3))
    assert found.passed is passes
    assert (found.bit_exact, found.instances_compared, found.first_bad_step) == (None, 0, None)
    once = ["reset", "infer"]
    assert board.calls == (once + [*once, "infer"] * 2 if stateful else once * 3)
