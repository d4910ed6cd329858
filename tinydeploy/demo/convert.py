"""From the trained network to an int8 graph: min-max scales, per-channel symmetric weights.

The rules are those of TFLite's 8-bit quantization specification.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from tinydeploy.demo.layers import AveragePool, Convolution, Dense, Depthwise, Flatten, Floats, Layer
from tinydeploy.demo.network import Network
from tinydeploy.ir import Array, Attrs, DType, Graph, Quant, Rewriter, TensorType
from tinydeploy.ops import OPS, site_of
from tinydeploy.ops.average_pool_2d import AveragePool2D
from tinydeploy.ops.check import verify
from tinydeploy.ops.conv_2d import Conv2D
from tinydeploy.ops.depthwise_conv_2d import DepthwiseConv2D
from tinydeploy.ops.fully_connected import FullyConnected
from tinydeploy.ops.interpreter import Interpreter
from tinydeploy.ops.quantized import Activation
from tinydeploy.ops.reshape import Reshape
from tinydeploy.ops.softmax import Softmax

SOFTMAX_QUANT = Quant((1.0 / 256.0,), (-128,))


def activation_quant(low: float, high: float) -> Quant:
    """Scale and zero point of int8 that cover ``low`` to ``high``, and 0 exactly; the scale is a float32."""
    low, high = min(low, 0.0), max(high, 0.0)
    scale = float(np.float32((high - low) / 255.0)) or 1.0
    return Quant((scale,), (max(-128, min(127, round(-128.0 - low / scale))),))


def weight_quant(weights: Floats, axis: int | None) -> Quant:
    """Symmetric int8 scales: one per index of ``axis``, or a single one."""
    others = None if axis is None else tuple(index for index in range(weights.ndim) if index != axis)
    peaks = np.atleast_1d(np.abs(weights).max(axis=others))
    scales = tuple(float(np.float32(peak / 127.0)) or 1.0 for peak in peaks)
    return Quant(scales, (0,) * len(scales), axis)


def quantized(real: Floats, quant: Quant, dtype: DType = DType.INT8) -> Array:
    """The nearest steps, ties to even, clipped to the type."""
    shape = [1] * real.ndim
    if quant.axis is not None:
        shape[quant.axis] = -1
    scales = np.array(quant.scales).reshape(shape if real.ndim else [])
    zero_points = np.array(quant.zero_points).reshape(shape if real.ndim else [])
    steps: Floats = np.clip(np.rint(real / scales) + zero_points, *dtype.limits)
    return steps.astype(dtype.numpy)


def bias_quant(data: Quant, weights: Quant) -> Quant:
    """The accumulator's scales, in float32 as in the model file."""
    scales = tuple(float(np.float32(data.scale) * np.float32(scale)) for scale in weights.scales)
    return Quant(scales, (0,) * len(scales), None if weights.per_tensor else 0)


def convert(network: Network, images: Floats, name: str) -> Graph:
    """The network as an int8 graph with a softmax at its end.

    ``images`` [N, H, W, C] are what the ranges of input and activations are measured on.
    """
    rewriter = Rewriter.empty(name)
    quant = activation_quant(float(images.min()), float(images.max()))
    shape = (1, *images.shape[1:])
    value = rewriter.input("image", TensorType(DType.INT8, shape, quant))
    for layer, result in zip(network.layers, network.activations(images), strict=True):
        inputs: tuple[int, ...] = (value,)
        attrs = _attrs(layer, shape)
        shape = (1, *result.shape[1:])
        if layer.parameters:
            axis = _channel_axis(layer)
            weights, bias = layer.parameters
            of_weights = weight_quant(weights, axis)
            of_bias = bias_quant(quant, of_weights)
            inputs += (
                _constant(rewriter, f"{layer.name}/weights", DType.INT8, weights, of_weights),
                _constant(rewriter, f"{layer.name}/bias", DType.INT32, bias, of_bias),
            )
            quant = activation_quant(float(result.min()), float(result.max()))
        output = (layer.name, TensorType(DType.INT8, shape, quant))
        (value,) = rewriter.node(layer.name, attrs, inputs, (output,))
    output = ("probabilities", TensorType(DType.INT8, shape, SOFTMAX_QUANT))
    (value,) = rewriter.node("probabilities", Softmax(), (value,), (output,))
    rewriter.output(value)
    graph = rewriter.freeze()
    verify(graph)
    return graph


def _constant(rewriter: Rewriter, name: str, dtype: DType, real: Floats, quant: Quant) -> int:
    return rewriter.constant(name, TensorType(dtype, real.shape, quant), quantized(real, quant, dtype))


def _channel_axis(layer: Layer) -> int | None:
    """Axis of the weights' scales; a dense layer has one scale, which every TFLite runtime takes."""
    if isinstance(layer, Convolution):
        return 0
    return 3 if isinstance(layer, Depthwise) else None


def _attrs(layer: Layer, shape: tuple[int, ...]) -> Attrs:
    """The operator of a layer whose input has this shape."""
    match layer:
        case Convolution() | Depthwise():
            operator = Conv2D if isinstance(layer, Convolution) else DepthwiseConv2D
            return operator(
                stride=(layer.stride, layer.stride),
                padding=layer.padding(shape),
                activation=Activation.RELU if layer.relu else Activation.NONE,
            )
        case AveragePool():
            return AveragePool2D(size=(layer.size, layer.size), stride=(layer.size, layer.size))
        case Flatten():
            return Reshape((1, int(np.prod(shape))))
        case Dense():
            return FullyConnected()
    raise TypeError(f"no operator for the layer {layer.name!r}")


def input_steps(graph: Graph, images: Floats) -> npt.NDArray[np.int8]:
    """Real images as the graph's int8 input, batch first."""
    quant = graph.type(graph.inputs[0]).quant
    if quant is None:
        raise ValueError("the graph's input is not quantized")
    return quantized(images, quant).astype(np.int8)


def int8_accuracy(graph: Graph, inputs: npt.NDArray[np.int8], labels: npt.NDArray[np.int64]) -> float:
    """Fraction of inputs whose largest output, the first of equals, is the label's; exact arithmetic."""
    interpreter = Interpreter(graph)
    answers = [int(interpreter.run((image[None],))[0].argmax()) for image in inputs]
    return float(np.mean(np.array(answers) == labels))


def macs_of(graph: Graph) -> int:
    """Multiply-accumulates of one run."""
    return sum(OPS[node.op].macs(site_of(graph, index)) for index, node in enumerate(graph.nodes))
