"""From the trained network to an int8 graph: scales by the project's quantizer, stored as TFLite does."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from tinydeploy.demo.layers import AveragePool, Convolution, Dense, Depthwise, Flatten, Floats
from tinydeploy.demo.layers import Layer as Trained
from tinydeploy.demo.network import Network
from tinydeploy.ir import Attrs, DType, Graph, Rewriter, TensorType
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
from tinydeploy.quantize.interface import Adapted
from tinydeploy.quantize.options import Options
from tinydeploy.quantize.prepare import Rebuild
from tinydeploy.quantize.quantizer import study
from tinydeploy.quantize.samples import from_arrays
from tinydeploy.quantize.scales import peaks_of, steps_of, weight_quant
from tinydeploy.quantize.scheme import Choice, Steps, choose_steps
from tinydeploy.quantize.studied import Prepared
from tinydeploy.quantize.weights import Integers, Layer, int8_weights, with_bias

OPTIONS = Options(bias_correction=False)


def convert(network: Network, images: Floats, name: str) -> Graph:
    """The network as an int8 graph with a softmax at its end.

    ``images`` [N, H, W, C] are what the ranges of input and activations are measured on.
    """
    real = float_graph(network, images.shape[1:], name)
    prepared = Prepared(real, Adapted(real))
    samples = from_arrays([images], prepared.ports, "the training images")
    studied = study(prepared, samples, OPTIONS)
    steps = choose_steps(real, studied.observers, Choice(OPTIONS.method))
    layers = {index: _integers(layer, steps, real) for index, layer in studied.layers.items()}
    graph = _as_tflite(real, steps, layers)
    verify(graph)
    return graph


def float_graph(network: Network, image: tuple[int, ...], name: str) -> Graph:
    """The network in float32, for images [H, W, C]."""
    rewriter = Rewriter.empty(name)
    shape: tuple[int, ...] = (1, *image)
    value = rewriter.input("image", TensorType(DType.FLOAT32, shape))
    for layer, result in zip(network.layers, network.activations(np.zeros(shape)), strict=True):
        inputs: tuple[int, ...] = (value,)
        attrs = _attrs(layer, shape)
        shape = (1, *result.shape[1:])
        for role, real in zip(("weights", "bias"), layer.parameters, strict=False):
            type_ = TensorType(DType.FLOAT32, real.shape)
            inputs += (rewriter.constant(f"{layer.name}/{role}", type_, real.astype(np.float32)),)
        output = (layer.name, TensorType(DType.FLOAT32, shape))
        (value,) = rewriter.node(layer.name, attrs, inputs, (output,))
    output = ("probabilities", TensorType(DType.FLOAT32, shape))
    (value,) = rewriter.node("probabilities", Softmax(), (value,), (output,))
    rewriter.output(value)
    return rewriter.freeze()


def _integers(layer: Layer, steps: Mapping[int, Steps], graph: Graph) -> Integers:
    """A layer's constants; a dense one has one scale, which every TFLite runtime takes."""
    data = steps[graph.nodes[layer.index].inputs[0] or 0].quant
    if layer.op != "FullyConnected":
        return int8_weights(layer, data)
    quant = weight_quant(peaks_of(layer.weights, None), None)
    return with_bias(layer, data, steps_of(layer.weights, quant, DType.INT8), quant)


def _as_tflite(graph: Graph, steps: Mapping[int, Steps], layers: Mapping[int, Integers]) -> Graph:
    """The float graph with its tensors as steps, under TFLite's own rounding."""
    rebuild = Rebuild.of(graph)
    add = rebuild.rewriter

    def type_of(value: int) -> TensorType:
        return TensorType(steps[value].dtype, graph.type(value).shape, steps[value].quant)

    for value in graph.inputs:
        rebuild.value[value] = add.input(graph.values[value].name, type_of(value))
    for index, node in enumerate(graph.nodes):
        operands = [rebuild.value[node.inputs[0] or 0]]
        held = layers.get(index)
        if held is not None:
            constants = ((DType.INT8, held.weights, held.quant), (DType.INT32, held.bias, held.bias_quant))
            for source, (dtype, array, quant) in zip(node.inputs[1:], constants, strict=True):
                if source is not None and array is not None:
                    type_ = TensorType(dtype, array.shape, quant)
                    operands.append(add.constant(graph.values[source].name, type_, array))
        outputs = tuple((graph.values[value].name, type_of(value)) for value in node.outputs)
        made = add.node(node.name, node.attrs, tuple(operands), outputs)
        rebuild.value.update(zip(node.outputs, made, strict=True))
    for value in graph.outputs:
        add.output(rebuild.value[value])
    return add.freeze()


def _attrs(layer: Trained, shape: tuple[int, ...]) -> Attrs:
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
    return steps_of(images, quant, DType.INT8).astype(np.int8)


def int8_accuracy(graph: Graph, inputs: npt.NDArray[np.int8], labels: npt.NDArray[np.int64]) -> float:
    """Fraction of inputs whose largest output, the first of equals, is the label's; exact arithmetic."""
    interpreter = Interpreter(graph)
    answers = [int(interpreter.run((image[None],))[0].argmax()) for image in inputs]
    return float(np.mean(np.array(answers) == labels))


def macs_of(graph: Graph) -> int:
    """Multiply-accumulates of one run."""
    return sum(OPS[node.op].macs(site_of(graph, index)) for index, node in enumerate(graph.nodes))
