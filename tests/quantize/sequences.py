"""Int8 versions of networks of sequences, made by our own quantizer from random samples."""

from __future__ import annotations

import numpy as np
import onnx

from tests.running_onnx import graph_of
from tinydeploy.quantize.options import Options
from tinydeploy.quantize.quantizer import Quantized, quantize_graph
from tinydeploy.quantize.samples import Samples

SAMPLES = 16


def quantized(model: onnx.ModelProto, count: int = SAMPLES, seed: int = 0) -> Quantized:
    """The model in int8, calibrated on normal numbers."""
    graph = graph_of(model)
    generator = np.random.default_rng(seed)
    shapes = [graph.type(value).shape for value in graph.inputs]
    samples = [
        tuple(generator.standard_normal(shape).astype(np.float32) for shape in shapes) for _ in range(count)
    ]
    return quantize_graph(graph, lambda _ports: Samples("random", lambda: iter(samples), count), Options())
