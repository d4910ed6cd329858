"""The input as the program gets it: raw pixels or features, in the order in which they lie in memory.

Scaling and normalisation, ``(raw / range - mean) / std``, become part of the model: of the input's scale
where that is exact, else of the first convolution, else a layer of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tinydeploy.errors import TinyDeployError
from tinydeploy.ir import DType, Graph, Node, Quant, Rewriter, TensorType
from tinydeploy.ops.conv_2d import Conv2D
from tinydeploy.ops.depthwise_conv_2d import DepthwiseConv2D
from tinydeploy.ops.transpose import Transpose
from tinydeploy.quantize.histogram import Floats
from tinydeploy.quantize.prepare import Rebuild
from tinydeploy.quantize.samples import Sample, Samples
from tinydeploy.quantize.scheme import Steps

TO_NHWC = (0, 2, 3, 1)
TO_NCHW = (0, 3, 1, 2)


@dataclass(frozen=True, slots=True)
class Normalisation:
    """``real = (raw / range - mean) / std``; one mean and std, or one per channel.

    ``raw`` is what the samples hold and the program takes: uint8 or int8.
    """

    mean: tuple[float, ...]
    std: tuple[float, ...]
    range: float = 255.0
    raw: DType = DType.UINT8

    def factors(self, channels: int) -> tuple[Floats, Floats]:
        """(a, b) per channel, with ``real = a * raw + b``."""
        mean = np.broadcast_to(np.asarray(self.mean, np.float64), channels)
        std = np.broadcast_to(np.asarray(self.std, np.float64), channels)
        return np.asarray(1.0 / (self.range * std)), np.asarray(-mean / std)


@dataclass(frozen=True, slots=True)
class Adapted:
    """A graph that takes what the program gets. ``given`` is the input's scale where that is settled.

    ``scale`` turns a raw sample into the graph's real input where normalisation went into the scale.
    """

    graph: Graph
    given: Steps | None = None
    scale: tuple[float, float] = (1.0, 0.0)
    how: str = ""


def is_planar(graph: Graph) -> bool:
    """Whether the model's first input is an image plane by plane: only transposed to channels last."""
    value = graph.inputs[0]
    readers = [graph.nodes[index] for index in graph.consumers().get(value, ())]
    return bool(readers) and all(
        isinstance(node.attrs, Transpose) and node.attrs.order == TO_NHWC for node in readers
    )


def normalised(graph: Graph, normalisation: Normalisation | None, input_type: DType) -> Adapted:
    """The graph whose first input is raw numbers.

    Raises TinyDeployError where mean and std fit neither the channels nor a single number.
    """
    if normalisation is None:
        return Adapted(graph)
    value = graph.inputs[0]
    shape = graph.type(value).shape
    planar = len(shape) == 4 and is_planar(graph)
    channels = shape[1] if planar else shape[-1]
    for option, numbers in (("--mean", normalisation.mean), ("--std", normalisation.std)):
        if len(numbers) not in (1, channels):
            raise TinyDeployError(
                f"{len(numbers)} numbers, the input has {channels} channels",
                where=option,
                fix=f"Give 1 or {channels}",
            )
    if any(std <= 0 for std in normalisation.std):
        raise TinyDeployError("a number is not positive", where="--std", fix="Give standard deviations")
    a, b = normalisation.factors(channels)
    offset = _offset(normalisation.raw, input_type)
    point = -b[0] / a[0] + offset
    low, high = input_type.limits if input_type.is_integer else (0, -1)
    uniform = bool((a == a[0]).all() and (b == b[0]).all())
    if uniform and abs(point - round(point)) < 1e-6 and low <= round(point) <= high:
        scale = Quant((float(np.float32(a[0])),), (round(point),))
        return Adapted(graph, Steps(input_type, scale), (float(a[0]), float(b[0])), "in the input's scale")
    raw = Steps(input_type, Quant((1.0,), (offset,))) if input_type.is_integer else None
    folded = _into_convolution(graph, a, b, planar)
    if folded is not None:
        return Adapted(folded, raw, how="in the first convolution")
    if len(shape) != 4:
        raise TinyDeployError(
            f"mean and std do not fit into the scale of an input of shape {list(shape)}",
            where="--mean, --std",
            fix="Give one mean and std, with a mean that is a whole number of steps",
        )
    return Adapted(_as_layer(graph, a, b, planar), raw, how="as a layer of its own")


def _offset(raw: DType, held: DType) -> int:
    """Zero point of raw numbers held in another 8-bit type."""
    if raw is held or not held.is_integer:
        return 0
    return -128 if held is DType.INT8 else 128


def _into_convolution(graph: Graph, a: Floats, b: Floats, planar: bool) -> Graph | None:
    """The graph with the factors in its first convolution, unless padding or a second reader forbids."""
    value = graph.inputs[0]
    readers = graph.consumers().get(value, ())
    if planar and len(readers) == 1:
        readers = graph.consumers().get(graph.nodes[readers[0]].outputs[0], ())
    if len(readers) != 1 or value in graph.outputs:
        return None
    node = graph.nodes[readers[0]]
    weights = node.inputs[1] if len(node.inputs) > 1 else None
    bias = node.inputs[2] if len(node.inputs) > 2 else None
    if not isinstance(node.attrs, Conv2D) or weights is None or not graph.values[weights].is_constant:
        return None
    padded = node.attrs.padding != ((0, 0), (0, 0))
    if (padded and b.any()) or (bias is not None and not graph.values[bias].is_constant):
        return None
    old = graph.array(weights).astype(np.float64)
    shift = (old * b).sum(axis=(1, 2, 3))
    total = shift if bias is None else graph.array(bias).reshape(-1) + shift
    rewriter = Rewriter(graph)
    names = graph.values[weights].name, graph.values[bias].name if bias is not None else f"{node.name}_bias"
    new = (
        rewriter.constant(names[0], graph.type(weights), (old * a).astype(np.float32)),
        rewriter.constant(names[1], TensorType(DType.FLOAT32, total.shape), total.astype(np.float32)),
    )
    rewriter.replace_node(readers[0], Node(node.name, node.attrs, (node.inputs[0], *new), node.outputs))
    return rewriter.freeze()


def _as_layer(graph: Graph, a: Floats, b: Floats, planar: bool) -> Graph:
    """The graph behind a 1x1 depthwise convolution that normalises."""
    value = graph.inputs[0]
    type_, name = graph.type(value), graph.values[value].name
    rebuild = Rebuild.of(graph)
    add = rebuild.rewriter
    current = add.input(name, type_)
    image = type_
    if planar:
        image = TensorType(type_.dtype, tuple(type_.shape[axis] for axis in TO_NHWC))
        (current,) = add.node(f"{name}_rows", Transpose(TO_NHWC), (current,), ((f"{name}_rows", image),))
    weights = a.astype(np.float32).reshape(1, 1, 1, -1)
    constants = (
        add.constant(f"{name}_std", TensorType(DType.FLOAT32, weights.shape), weights),
        add.constant(f"{name}_mean", TensorType(DType.FLOAT32, b.shape), b.astype(np.float32)),
    )
    label = f"{name}_normalised"
    (current,) = add.node(label, DepthwiseConv2D(), (current, *constants), ((label, image),))
    if planar:
        (current,) = add.node(
            f"{label}_planes", Transpose(TO_NCHW), (current,), ((f"{label}_planes", type_),)
        )
    return _rest(graph, rebuild, current)


def _rest(graph: Graph, rebuild: Rebuild, first: int) -> Graph:
    """Copy everything behind the first input, which ``first`` stands for."""
    rebuild.value[graph.inputs[0]] = first
    for value in graph.inputs[1:]:
        rebuild.value[value] = rebuild.rewriter.input(graph.values[value].name, graph.type(value))
    for state in graph.states:
        before = graph.values[state.before]
        rebuild.value[state.before] = rebuild.rewriter.free_value(before.name, before.type)
    for node in graph.nodes:
        rebuild.node(graph, node, tuple(rebuild.read(graph, value) for value in node.inputs))
    for value in graph.outputs:
        output = rebuild.read(graph, value)
        if output is not None:
            rebuild.rewriter.output(output)
    for state in graph.states:
        initial = graph.blobs.array(state.initial, graph.type(state.before))
        rebuild.rewriter.state(rebuild.value[state.before], rebuild.value[state.after], initial)
    return rebuild.rewriter.freeze()


def scaled(samples: Samples, scale: tuple[float, float]) -> Samples:
    """Samples with ``a * raw + b`` in the place of the first input."""
    if scale == (1.0, 0.0):
        return samples
    a, b = scale

    def opened() -> Iterator[Sample]:
        for first, *rest in samples:
            yield ((first.astype(np.float64) * a + b).astype(np.float32), *rest)

    return Samples(samples.where, opened, samples.count)
