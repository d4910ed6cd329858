"""The numpy reference has TFLM's bits on every inner tensor of the six MLPerf Tiny models."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.golden.tflm import assert_same_tensors, random_inputs
from tests.shared_data import (
    MLPERF_MODELS,
    ad_windows,
    cifar_inputs,
    kws_inputs,
    kws_labels,
    kws_names,
    mlperf_model,
    needs_shared,
)
from tinydeploy.frontends import load
from tinydeploy.ir import Graph
from tinydeploy.ops.interpreter import Interpreter

pytestmark = needs_shared

SAMPLES = 8
# The largest model takes half a second per sample in numpy.
NODES = {"kws": 13, "vww": 31, "ic": 16, "ad": 10, "sww": 11, "ic02": 16}


def real_inputs(bench: str, graph: Graph) -> list[list[npt.NDArray[Any]]]:
    """Four samples of the benchmark's own data, where there is any."""
    count = SAMPLES // 2
    if bench == "kws":
        return [[sample] for sample in kws_inputs(count)]
    if bench in ("ic", "ic02"):
        return [[sample] for sample in cifar_inputs(count)]
    if bench == "ad":
        quant = graph.type(graph.inputs[0]).quant
        assert quant is not None
        steps = np.rint(ad_windows(count) / np.float32(quant.scale)) + quant.zero_point
        return [[sample.reshape(1, 640)] for sample in np.clip(steps, -128, 127).astype(np.int8)]
    return []


@pytest.mark.parametrize("bench", MLPERF_MODELS)
def test_every_inner_tensor_has_tflm_s_bits(bench: str) -> None:
    path = mlperf_model(bench)
    graph = load(path)
    real = real_inputs(bench, graph)
    samples = [*real, *random_inputs(graph, SAMPLES - len(real), seed=7)]
    compared = assert_same_tensors(path.read_bytes(), graph, samples)
    assert compared == SAMPLES * NODES[bench]


def test_kws_is_right_on_901_of_the_1000_official_inputs() -> None:
    interpreter = Interpreter(load(mlperf_model("kws")))
    labels = kws_labels()
    names = kws_names()
    assert len(names) == 1000
    right = sum(
        int(interpreter.run([sample])[0].argmax()) == labels[name]
        for name, sample in zip(names, kws_inputs(1000), strict=True)
    )
    assert right == 901
