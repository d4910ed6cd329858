"""LSTM, GRU and RNN equal onnxruntime: as kernels, and unrolled into simpler operators."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import onnx
import pytest

from tests.onnx_models import OnnxBuilder, Recurrent, add_recurrent
from tests.running_onnx import (
    assert_close,
    assert_like_onnxruntime,
    c_outputs,
    feeds_of,
    graph_of,
    onnxruntime_outputs,
)
from tinydeploy.ops import check
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.passes.unread_sequences import unread_sequences
from tinydeploy.passes.unroll_recurrent import role_of, tied_values, unroll_recurrent

ACTIVATED = [
    (["Relu"], [], []),
    (["Elu"], [], []),
    (["ScaledTanh"], [0.8], [0.7]),
    (["Softplus"], [], []),
    (["Softsign"], [], []),
    (["HardSigmoid"], [], []),
    (["ThresholdedRelu"], [0.3], []),
    (["Affine"], [0.5], [0.1]),
]

CASES = [
    Recurrent("LSTM"),
    Recurrent(
        "LSTM",
        direction="bidirectional",
        batch=3,
        initial=True,
        peepholes=True,
        lengths=(5, 2, 3),
    ),
    Recurrent("LSTM", direction="reverse", bias=False, attributes=(("input_forget", 1), ("clip", 0.3))),
    Recurrent("LSTM", initial=True, peepholes=True, attributes=(("clip", 0.3),)),
    Recurrent("GRU"),
    Recurrent(
        "GRU", direction="bidirectional", batch=2, initial=True, attributes=(("linear_before_reset", 1),)
    ),
    Recurrent("GRU", direction="reverse", batch=2, lengths=(3, 4), bias=False, attributes=(("clip", 0.4),)),
    Recurrent("GRU", attributes=(("linear_before_reset", 1),)),
    Recurrent("GRU", attributes=(("activations", ["Sigmoid", "Relu"]),)),
    Recurrent("RNN"),
    Recurrent("RNN", steps=1, inputs=1, hidden=1),
    Recurrent("RNN", lengths=(5,)),
    Recurrent(
        "RNN",
        direction="bidirectional",
        batch=2,
        attributes=(("activations", ["Relu", "LeakyRelu"]), ("activation_alpha", [0.1])),
    ),
    *(
        Recurrent(
            "RNN",
            attributes=(
                ("activations", names),
                *((("activation_alpha", alphas),) if alphas else ()),
                *((("activation_beta", betas),) if betas else ()),
            ),
        )
        for names, alphas, betas in ACTIVATED
    ),
]


def model_of(cases: list[Recurrent]) -> onnx.ModelProto:
    """All cases side by side."""
    builder = OnnxBuilder(seed=1)
    for case in cases:
        for name in add_recurrent(builder, case):
            builder.output(name)
    return builder.model()


@pytest.mark.slow
def test_kernels_equal_onnxruntime(tmp_path: Path) -> None:
    assert_like_onnxruntime(model_of(CASES), tmp_path)


def test_unrolled_equals_onnxruntime() -> None:
    cases = [case for case in CASES if not case.lengths]
    model = model_of(cases)
    feeds = feeds_of(model)
    expected = onnxruntime_outputs(model, feeds)
    unrolled = unroll_recurrent(graph_of(model))
    check.verify(unrolled)
    assert sum(node.op in ("Lstm", "Gru") for node in unrolled.nodes) == 0
    assert_close(expected, Interpreter(unrolled).run(tuple(feeds.values())))


def test_unrolled_c_equals_onnxruntime(tmp_path: Path) -> None:
    model = model_of([replace(CASES[index], steps=2) for index in (0, 5)])
    feeds = feeds_of(model)
    got = c_outputs(unroll_recurrent(graph_of(model)), tuple(feeds.values()), tmp_path)
    assert_close(onnxruntime_outputs(model, feeds), got)


def test_other_cases_stay_one_operator() -> None:
    """Sequences that end early, and activations beyond sigmoid, tanh and relu."""
    graph = graph_of(model_of([CASES[1], CASES[-1]]))
    assert unroll_recurrent(graph) is graph


def test_values_of_one_role_are_tied() -> None:
    unrolled = unroll_recurrent(graph_of(model_of([Recurrent("LSTM", steps=4)])))
    groups = {role_of(unrolled.values[group[0]].name): len(group) for group in tied_values(unrolled)}
    assert groups["lstm0@forward.h"] == groups["lstm0@forward.c"] == 4
    assert groups["lstm0@forward.gates"] == groups["lstm0@forward.gate_i"] == 4
    assert groups["lstm0@forward.kept"] == groups["lstm0@forward.carried"] == 3
    assert role_of("lstm0@forward.projected") is None
    assert sum(unrolled.values[value].name.endswith("weights_h0") for value in unrolled.constants()) == 1


@pytest.mark.parametrize("count", [33, 70])
def test_long_sequences_are_put_together_in_groups(count: int) -> None:
    model = model_of([Recurrent("RNN", steps=count, direction="bidirectional")])
    feeds = feeds_of(model)
    unrolled = unroll_recurrent(graph_of(model))
    check.verify(unrolled)
    assert_close(onnxruntime_outputs(model, feeds), Interpreter(unrolled).run(tuple(feeds.values())))


def test_a_sequence_that_nobody_reads_takes_no_ram(tmp_path: Path) -> None:
    """Three networks of last states only; unread outputs of an LSTM beside read ones."""
    cases = [
        Recurrent("LSTM", direction="bidirectional", batch=2, lengths=(5, 3)),
        Recurrent("GRU", direction="reverse"),
        Recurrent("RNN"),
    ]
    builder = OnnxBuilder(seed=1)
    for case in cases:
        builder.output(add_recurrent(builder, case)[1])
    model = builder.model()
    feeds = feeds_of(model)
    graph = unread_sequences(graph_of(model))
    assert [len(node.outputs) for node in graph.nodes] == [2, 1, 1]
    assert unread_sequences(graph) is graph
    assert_close(onnxruntime_outputs(model, feeds), c_outputs(graph, tuple(feeds.values()), tmp_path))
    assert "Reshape" in {node.op for node in unroll_recurrent(graph).nodes}
    expected = Interpreter(graph).run(tuple(feeds.values()))
    assert_close(expected, Interpreter(unroll_recurrent(graph)).run(tuple(feeds.values())))
