"""Accuracy and robustness on the models and data beside the checkout; figures are of the issue."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

from tests.conftest import TESTS
from tests.shared_data import MLPERF, SHARED, kws_inputs, kws_labels, kws_names, mlperf_model, needs_shared
from tinydeploy.frontends import load
from tinydeploy.ir import Array, Graph
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.quantize import Options, quantize
from tinydeploy.quantize.evaluate import Difference, IntegerModel
from tinydeploy.quantize.prepare import dequantize_weights

pytestmark = needs_shared
Float32 = npt.NDArray[np.float32]

G08 = SHARED / "cases" / "g08_calib_outlier"


def outlier_samples() -> Float32:
    """200 images of normal numbers; one pixel of sample 77 is 1000."""
    samples = np.random.default_rng(123).standard_normal((200, 1, 3, 32, 32)).astype(np.float32)
    samples[77, 0, 0, 5, 5] = 1000.0
    return samples


@pytest.mark.slow
def test_one_outlier_does_not_ruin_a_model() -> None:
    """g08: at least 35 dB on clean samples; the tensor and the sample are named; batches do not matter."""
    graph, samples = load(G08 / "model.onnx"), outlier_samples()
    found = quantize(graph, samples, Options(compared=4))
    with np.load(G08 / "expected.npz") as file:
        wanted = file["float_out"]
    clean = np.random.default_rng(9).standard_normal((50, 1, 3, 32, 32)).astype(np.float32)
    model, difference = IntegerModel(found.integer), Difference()
    for image, answer in zip(clean, wanted, strict=True):
        difference.add(answer, model.outputs(model.run((image,)))[0])
    assert difference.sqnr_db >= 35.0
    assert {(outlier.tensor, outlier.sample) for outlier in found.report.outliers} >= {("x", 77)}
    eight = quantize(graph, samples.reshape(25, 8, 3, 32, 32), Options(compared=1))
    assert eight.graph == found.graph


MEASURE = """
import resource, sys
import numpy as np
from tinydeploy.frontends import load
from tinydeploy.quantize import Options, quantize
def samples():
    random = np.random.default_rng(1)
    for _ in range(int(sys.argv[2])):
        yield random.standard_normal((1, 3, 32, 32)).astype(np.float32)
quantize(load(sys.argv[1]), samples, Options(compared=4))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def _peak_kib(count: int) -> int:
    run = subprocess.run(
        [sys.executable, "-c", MEASURE, str(G08 / "model.onnx"), str(count)],
        capture_output=True,
        text=True,
        check=True,
        cwd=TESTS.parent,
    )
    return int(run.stdout)


@pytest.mark.full
def test_memory_does_not_grow_with_the_samples() -> None:
    assert resource.RUSAGE_SELF == 0
    assert _peak_kib(20_000) - _peak_kib(200) < 50 * 1024


def keywords() -> tuple[Float32, list[int]]:
    """The official inputs as real numbers, and their classes."""
    graph = load(mlperf_model("kws"))
    quant = graph.type(graph.inputs[0]).quant
    assert quant is not None
    steps = kws_inputs(1000).astype(np.float32)
    classes = kws_labels()
    return (steps - quant.zero_point) * np.float32(quant.scale), [classes[name] for name in kws_names()]


def right(answers: Iterator[Array], labels: list[int]) -> float:
    """Percent of the answers whose largest number is the label's."""
    return 100.0 * float(np.mean([int(a.argmax()) == b for a, b in zip(answers, labels, strict=True)]))


def accuracies(real: Graph, whole: Graph, data: list[Array], labels: list[int]) -> tuple[float, float]:
    """Percent right of the float and of the integer model."""
    floating, model = Interpreter(real), IntegerModel(whole)
    return (
        right((floating.run((sample,))[0] for sample in data), labels),
        right((model.outputs(model.run((sample,)))[0] for sample in data), labels),
    )


@pytest.mark.full
@pytest.mark.parametrize(("bits", "loss"), [(8, 0.5), (4, 1.5)])
def test_keyword_spotting_keeps_its_accuracy(bits: int, loss: float) -> None:
    """Calibrated on 200 inputs, scored on the other 800; 4-bit weights take at most 0.55 of 8-bit ones."""
    real = dequantize_weights(load(MLPERF / "kws_ref_model_float32.tflite"))
    data, labels = keywords()
    found = quantize(real, data[:200], Options(weight_bits=bits))
    before, after = accuracies(real, found.integer, list(data[200:]), labels[200:])
    print(f"kws int{bits}: float {before:.2f} %, integer {after:.2f} %, {found.report.weights_bytes} bytes")
    assert after >= before - loss
    assert found.report.weights_bytes <= 22_016 * (0.55 if bits == 4 else 1.0)


@pytest.mark.full
@pytest.mark.parametrize(("bits", "loss"), [(8, 1.0), (4, 2.5)])
def test_image_classification_keeps_its_accuracy(bits: int, loss: float) -> None:
    """Calibrated on 260 images, scored on 1,000 others; raw pixels go in."""
    real = load(MLPERF / "pretrainedResnet.tflite")
    with np.load(SHARED / "cifar10" / "cifar10_jpeg.npz") as file:
        calibration, test, labels = file["x_calib"], file["x_test"], file["y_test"]
    found = quantize(real, calibration, Options(weight_bits=bits))
    images = [image[None].astype(np.float32) for image in test]
    before, after = accuracies(real, found.integer, images, [int(label) for label in labels])
    print(f"ic int{bits}: float {before:.2f} %, integer {after:.2f} %, {found.report.weights_bytes} bytes")
    assert before == pytest.approx(75.1, abs=0.11)
    assert after >= before - loss
    quant = found.integer.type(found.integer.inputs[0]).quant
    assert quant is not None
    assert (quant.scale, quant.zero_point) == (1.0, -128)
