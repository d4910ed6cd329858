"""A GRU, an LSTM and a transformer in int8: no float is left, the C is exact, the result is close."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.onnx_models import OnnxBuilder, add_recurrent_network, add_transformer
from tests.quantize.sequences import quantized
from tests.running import assert_bit_exact
from tests.running_onnx import onnxruntime_outputs
from tinydeploy.build import compile_graph
from tinydeploy.ir import DType
from tinydeploy.kernels.targets import target_of
from tinydeploy.ops.exactness import is_exact
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.quantize.onnx_writer import to_onnx
from tinydeploy.quantize.quantizer import Quantized
from tinydeploy.verify import make_samples

HOST = target_of("host")


@pytest.fixture(scope="module")
def networks() -> Quantized:
    builder = OnnxBuilder(seed=7)
    for kind in ("GRU", "LSTM"):
        add_recurrent_network(builder, kind, steps=4)
    add_transformer(builder, blocks=2, length=4)
    return quantized(builder.model(), 8)


def test_they_are_integers_and_exact(networks: Quantized, tmp_path: Path) -> None:
    graph = networks.integer
    made = {graph.type(out).dtype for node in graph.nodes for out in node.outputs}
    assert DType.FLOAT32 not in made
    assert is_exact(graph)
    assert_bit_exact(compile_graph(graph, HOST, name="model"), tmp_path, samples=3)


def test_they_are_close(networks: Quantized) -> None:
    assert networks.report.output_sqnr_db > 25


def test_states_share_their_scales(networks: Quantized) -> None:
    """One scale for each role of a cell, at every step."""
    values = [value for value in networks.integer.values if not value.is_constant]
    for role in ("gru0@forward.sum#", "gru0@forward.h#", "lstm4@forward.c#"):
        quants = [value.type.quant for value in values if value.name.startswith(role)]
        assert len(quants) >= 3, role
        assert len(set(quants)) == 1, role


def test_onnxruntime_agrees_with_the_file(networks: Quantized) -> None:
    """At most one step away, though onnxruntime computes between the steps in float."""
    model = to_onnx(networks.graph)
    names = [item.name for item in model.graph.input]
    types = [networks.graph.type(value) for value in networks.graph.outputs]
    interpreter = Interpreter(networks.integer)
    for sample in make_samples(networks.graph, 4)[2:]:
        expected = onnxruntime_outputs(model, dict(zip(names, sample, strict=True)))
        for wanted, got, type_ in zip(expected, interpreter.run(sample), types, strict=True):
            assert np.abs(wanted.astype(int) - got).max() <= 1, type_
