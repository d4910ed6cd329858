"""Mean and std inside the model: in the scale where exact, in the convolution, or as a layer."""

from __future__ import annotations

import numpy as np
import pytest

from tests.quantize.networks import convolutional, graph_of
from tinydeploy.errors import TinyDeployError
from tinydeploy.frontends.base import ImportOptions, Layout
from tinydeploy.frontends.onnx import load_bytes
from tinydeploy.ir import DType, Graph
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.quantize import Normalisation, Options, quantize

RAW = np.random.default_rng(4).integers(0, 256, (16, 3, 8, 8)).astype(np.uint8)
HALF = Normalisation((128 / 255,), (0.25,))
IMAGENET = Normalisation((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
NO_MEAN = Normalisation((0.0,), (0.229, 0.224, 0.225))


def graph(pads: int) -> Graph:
    return graph_of(convolutional(pads))


def answers(found: Graph, real: Graph, normalisation: Normalisation) -> tuple[int, int]:
    """How many raw images get the same answer from the integer graph as from the float one on their own."""
    integer, floating = Interpreter(found), Interpreter(real)
    mean, std = (np.resize(np.array(n), 3).reshape(3, 1, 1) for n in (normalisation.mean, normalisation.std))
    type_ = found.type(found.inputs[0])
    same = 0
    for image in RAW:
        wanted = floating.run((((image / 255 - mean) / std).astype(np.float32)[None],))[0]
        steps = image.astype(np.int64) - (128 if type_.dtype is DType.INT8 else 0)
        got = integer.run((steps.astype(type_.dtype.numpy).reshape(type_.shape),))[0]
        same += int(wanted.argmax() == got.argmax())
    return same, len(RAW)


@pytest.mark.parametrize("input_type", [DType.INT8, DType.UINT8])
@pytest.mark.parametrize(
    ("normalisation", "pads", "how"),
    [
        (HALF, 1, "in the input's scale"),
        (IMAGENET, 0, "in the first convolution"),
        (NO_MEAN, 1, "in the first convolution"),
        (IMAGENET, 1, "as a layer of its own"),
    ],
)
def test_raw_pixels_are_what_the_program_takes(
    normalisation: Normalisation, pads: int, how: str, input_type: DType
) -> None:
    found = quantize(graph(pads), RAW, Options(input_type=input_type, normalisation=normalisation))
    assert found.report.normalisation == how
    quant = found.integer.type(found.integer.inputs[0]).quant
    assert quant is not None
    if how == "in the input's scale":
        assert quant.scale == float(np.float32(1 / (255 * 0.25)))
        assert quant.zero_point == (0 if input_type is DType.INT8 else 128)
    else:
        assert (quant.scale, quant.zero_point) == (1.0, -128 if input_type is DType.INT8 else 0)
    assert found.report.output_sqnr_db > 20
    same, all_ = answers(found.integer, graph(pads), normalisation)
    assert same >= all_ - 1


def test_int8_features_with_their_scale_are_taken_as_they_are() -> None:
    """Raw int8 = real / 0.5 + 3: the program's input is the raw data."""
    raw = (RAW.astype(np.int16) - 128).astype(np.int8)
    normalisation = Normalisation((3.0,), (2.0,), range=1.0, raw=DType.INT8)
    found = quantize(graph(1), raw, Options(normalisation=normalisation))
    quant = found.integer.type(found.integer.inputs[0]).quant
    assert quant is not None
    assert (quant.scale, quant.zero_point) == (0.5, 3)


def test_channels_last_for_the_program() -> None:
    """The importer turns the input; no transpose is left, and mean and std follow the channels."""
    model = convolutional(0).SerializeToString()
    turned = load_bytes(model, "net", options=ImportOptions(layout=Layout.NHWC))
    data = RAW.transpose(0, 2, 3, 1)
    found = quantize(turned, data, Options(normalisation=IMAGENET, input_type=DType.UINT8))
    assert found.integer.type(found.integer.inputs[0]).shape == (1, 8, 8, 3)
    assert "Transpose" not in [node.op for node in found.integer.nodes]
    assert found.report.normalisation == "in the first convolution"


@pytest.mark.parametrize(
    ("normalisation", "message"),
    [
        (Normalisation((0.1, 0.2), (1.0,)), "--mean: 2 numbers, the input has 3 channels. Give 1 or 3"),
        (Normalisation((0.1,), (0.0,)), "--std: a number is not positive. Give standard deviations"),
    ],
)
def test_numbers_that_do_not_fit(normalisation: Normalisation, message: str) -> None:
    with pytest.raises(TinyDeployError, match=message):
        quantize(graph(1), RAW, Options(normalisation=normalisation))
