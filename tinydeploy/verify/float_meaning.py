"""The real numbers behind a quantized graph: the same weights, no rounding of what flows between them."""

from __future__ import annotations

import numpy as np

from tinydeploy.errors import UnsupportedError
from tinydeploy.ir import Array, DType, Graph, Node, Quant, Rewriter, TensorType
from tinydeploy.ops import OPS, check, site_of
from tinydeploy.ops.dequantize import Dequantize
from tinydeploy.ops.quantize import Quantize
from tinydeploy.ops.reinterpret import Reinterpret
from tinydeploy.ops.requantize import Requantize
from tinydeploy.verify.metrics import real

_EDGES = (Dequantize, Quantize, Reinterpret, Requantize)


def float_meaning(graph: Graph) -> Graph:
    """The graph with every quantized value as float32 and no changes of scale.

    Inputs and outputs that were quantized are float32 too; for operators that take any kind of numbers this
    is the network before its quantization, but for what the weights lost. Raises UnsupportedError where an
    operator has no float form.
    """
    rewriter = Rewriter.empty(graph.name)
    made: dict[int, int] = {}
    read_as = _read_as(graph)
    for value in graph.inputs:
        made[value] = rewriter.input(graph.values[value].name, _float(read_as.get(value, graph.type(value))))
    for state in graph.states:
        made[state.before] = rewriter.free_value(
            graph.values[state.before].name, _float(graph.type(state.before))
        )
    for value in graph.constants():
        made[value] = _constant(rewriter, graph, value, read_as.get(value, graph.type(value)))
    for index, node in enumerate(graph.nodes):
        source = node.inputs[0] if node.inputs else None
        if isinstance(node.attrs, _EDGES) and source is not None:
            made[node.outputs[0]] = made[source]
            continue
        inputs = [None if value is None else made[value] for value in node.inputs]
        if (bias := _bias(graph, index)) is not None:
            place, number, type_ = bias
            inputs[place] = _constant(rewriter, graph, number, type_)
        outputs = tuple((graph.values[out].name, _float(graph.type(out))) for out in node.outputs)
        made.update(
            zip(node.outputs, rewriter.node(node.name, node.attrs, tuple(inputs), outputs), strict=True)
        )
    for value in graph.outputs:
        rewriter.output(made[value])
    for state in graph.states:
        type_ = graph.type(state.before)
        initial = _numbers(graph.blobs.array(state.initial, type_), type_)
        rewriter.state(made[state.before], made[state.after], initial)
    result = rewriter.freeze()
    gaps = [gap for index in range(len(result.nodes)) for gap in check.gaps(site_of(result, index))]
    if gaps:
        raise UnsupportedError(tuple(gaps), where=f"the float meaning of {graph.name}")
    check.verify(result)
    return result


def _read_as(graph: Graph) -> dict[int, TensorType]:
    """The quantized type of plain integers that every reader takes for steps of that type."""
    found: dict[int, set[TensorType]] = {}
    for node in graph.nodes:
        steps = isinstance(node.attrs, Reinterpret)
        for value in node.inputs:
            if value is not None:
                found.setdefault(value, set()).add(
                    graph.type(node.outputs[0]) if steps else graph.type(value)
                )
    return {value: types.pop() for value, types in found.items() if len(types) == 1}


def _float(type_: TensorType) -> TensorType:
    return type_ if type_.quant is None else TensorType(DType.FLOAT32, type_.shape)


def _numbers(array: Array, type_: TensorType) -> Array:
    return array if type_.quant is None else real(array, type_).astype(np.float32)


def _constant(rewriter: Rewriter, graph: Graph, value: int, type_: TensorType) -> int:
    return rewriter.constant(graph.values[value].name, _float(type_), _numbers(graph.array(value), type_))


def _bias(graph: Graph, index: int) -> tuple[int, int, TensorType] | None:
    """Place, value and type of a bias that says no scale of its own: it counts in the input's scale times
    that of the weights."""
    node: Node = graph.nodes[index]
    roles = OPS[node.op].roles
    place = roles.index("bias?") if "bias?" in roles else len(node.inputs)
    value = node.inputs[place] if place < len(node.inputs) else None
    data, weights = (node.inputs[k] if k < len(node.inputs) else None for k in (0, 1))
    if value is None or data is None or weights is None:
        return None
    type_, scale = graph.type(value), graph.type(data).quant
    factors = graph.type(weights).quant
    if type_.quant is not None or scale is None or factors is None or not type_.dtype.is_integer:
        return None
    return place, value, _scaled(type_, tuple(scale.scale * factor for factor in factors.scales))


def _scaled(type_: TensorType, scales: tuple[float, ...]) -> TensorType:
    axis = None if len(scales) == 1 else 0
    return TensorType(type_.dtype, type_.shape, Quant(scales, (0,) * len(scales), axis))
