"""A float graph and its scales as one graph: Quantize and Dequantize around every tensor that has steps.

This is the form that ONNX files have and that the pass ``integerize`` turns into integer operators.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tinydeploy.fixed_point import Rounding
from tinydeploy.ir import DType, Graph, Node, Quant, TensorType
from tinydeploy.ops.check import verify
from tinydeploy.ops.dequantize import Dequantize
from tinydeploy.ops.quantize import Quantize
from tinydeploy.quantize.prepare import Rebuild
from tinydeploy.quantize.rules import Kind, Rule
from tinydeploy.quantize.scales import activation_quant, range_of, steps_of
from tinydeploy.quantize.scheme import Steps, rules_of
from tinydeploy.quantize.weights import Integers

SUFFIX = "_steps"
"""Appended to a tensor's name for its integer form."""


@dataclass(frozen=True, slots=True)
class Interface:
    """Element types at the model's edges: float32, or steps as the program passes them."""

    input: DType = DType.INT8
    output: DType = DType.INT8


def apply(
    graph: Graph,
    steps: Mapping[int, Steps],
    layers: Mapping[int, Integers],
    interface: Interface,
) -> Graph:
    """The graph with scales. ``layers`` holds the integers of nodes with constant weights, by their index."""
    writer = _Writer(graph, steps, layers, interface)
    return writer.written()


class _Writer:
    def __init__(
        self,
        graph: Graph,
        steps: Mapping[int, Steps],
        layers: Mapping[int, Integers],
        interface: Interface,
    ) -> None:
        self.graph = graph
        self.steps = steps
        self.layers = layers
        self.interface = interface
        self.rebuild = Rebuild.of(graph)
        self.rewriter = self.rebuild.rewriter
        self.integer: dict[int, int] = {}
        """The integer form of each value of the source that has one."""
        self.real: dict[int, int] = {}
        """What readers of each value of the source read."""
        self.wide: dict[int, int] = {}
        """What nodes on int16 read instead."""

    def written(self) -> Graph:
        graph = self.graph
        for value in graph.inputs:
            self._input(value)
        for state in graph.states:
            before = graph.values[state.before]
            made = self.rewriter.free_value(before.name, before.type)
            self.rebuild.value[state.before] = made
            self._around(state.before, made)
        for index, (node, rule) in enumerate(zip(graph.nodes, rules_of(graph), strict=True)):
            wide = self._is_wide(node, rule)
            copies = self.rebuild.node(graph, node, self._operands(index, node, rule, wide=wide))
            for value, copy in zip(node.outputs, copies, strict=True):
                self._around(value, self._through_wide(value, copy) if wide else copy)
        for value in graph.outputs:
            self._output(value)
        for state in graph.states:
            initial = graph.blobs.array(state.initial, graph.type(state.before))
            self.rewriter.state(self.rebuild.value[state.before], self._read(state.after), initial)
        result = self.rewriter.freeze()
        verify(result)
        return result

    def _input(self, value: int) -> None:
        source, steps = self.graph.values[value], self.steps.get(value)
        if steps is None or self.interface.input is DType.FLOAT32:
            made = self.rewriter.input(source.name, source.type)
            self._around(value, made)
            return
        held = interface_steps(steps, self.interface.input)
        type_ = TensorType(held.dtype, source.type.shape, held.quant)
        made = self.rewriter.input(source.name, type_)
        self.integer[value] = made
        self.real[value] = self._dequantized(source.name, made, type_)

    def _around(self, value: int, copy: int) -> None:
        """Quantize and Dequantize behind a value that has steps."""
        source, steps = self.graph.values[value], self.steps.get(value)
        if steps is None:
            self.real[value] = copy
            return
        type_ = TensorType(steps.dtype, source.type.shape, steps.quant)
        name = source.name + SUFFIX
        (whole,) = self.rewriter.node(
            f"{source.name}_quantize", Quantize(Rounding.HALF_EVEN, steps.dtype), (copy,), ((name, type_),)
        )
        self.integer[value] = whole
        self.real[value] = self._dequantized(source.name, whole, type_)

    def _is_wide(self, node: Node, rule: Rule) -> bool:
        """Whether a node computes on int16: one of its tensors does; integer operators take one type."""
        values = [*(node.inputs[index] for index in rule.data), *node.outputs]
        steps = [self.steps[value] for value in values if value is not None and value in self.steps]
        return any(one.dtype is DType.INT16 for one in steps) and rule.kind is not Kind.REAL

    def _through_wide(self, value: int, copy: int) -> int:
        """The result of a node on int16 that is held in 8 bits: rounded to int16 first."""
        steps = self.steps.get(value)
        if steps is None or steps.dtype is DType.INT16:
            return copy
        quant = activation_quant(*range_of(steps.quant, steps.dtype), DType.INT16)
        return self._rounded(value, copy, Steps(DType.INT16, quant))

    def _widened(self, value: int) -> int:
        """8-bit data for a node on int16, with the same scale."""
        steps = self.steps[value]
        if value not in self.wide:
            if steps.dtype is DType.INT16:
                return self._read(value)
            same = Steps(DType.INT16, Quant(steps.quant.scales, (0,)))
            self.wide[value] = self._rounded(value, self._read(value), same)
        return self.wide[value]

    def _rounded(self, value: int, copy: int, steps: Steps) -> int:
        source = self.graph.values[value]
        type_ = TensorType(steps.dtype, source.type.shape, steps.quant)
        name = f"{source.name}_wide"
        attrs = Quantize(Rounding.HALF_EVEN, steps.dtype)
        (whole,) = self.rewriter.node(f"{name}_quantize", attrs, (copy,), ((name, type_),))
        return self._dequantized(name, whole, type_)

    def _dequantized(self, name: str, value: int, type_: TensorType) -> int:
        real = TensorType(DType.FLOAT32, type_.shape)
        (made,) = self.rewriter.node(f"{name}_dequantize", Dequantize(), (value,), ((f"{name}_real", real),))
        return made

    def _read(self, value: int) -> int:
        if self.graph.values[value].is_constant:
            return self.rebuild.constant(self.graph, value)
        return self.real[value]

    def _operands(self, index: int, node: Node, rule: Rule, *, wide: bool) -> tuple[int | None, ...]:
        operands: list[int | None] = []
        for place, value in enumerate(node.inputs):
            if value is None:
                operands.append(None)
            elif place in rule.data and self.graph.values[value].is_constant:
                operands.append(self._constant(value))
            elif place in rule.data and wide and value in self.steps:
                operands.append(self._widened(value))
            else:
                operands.append(self._read(value))
        if rule.kind is Kind.DOT:
            self._layer(node, self.layers[index], operands)
        return tuple(operands)

    def _constant(self, value: int) -> int:
        """A constant operand that is data: steps like any activation."""
        if value not in self.real:
            source, array = self.graph.values[value], self.graph.array(value)
            steps = self.steps.get(value)
            if steps is None:
                low, high = float(array.min()), float(array.max())
                dtype = next(iter(self.steps.values())).dtype
                steps = Steps(dtype, activation_quant(low, high, dtype))
            type_ = TensorType(steps.dtype, source.type.shape, steps.quant)
            whole = steps_of(array, steps.quant, steps.dtype)
            made = self.rewriter.constant(source.name + SUFFIX, type_, whole)
            self.real[value] = self._dequantized(source.name, made, type_)
        return self.real[value]

    def _layer(self, node: Node, integers: Integers, operands: list[int | None]) -> None:
        names = [None if value is None else self.graph.values[value].name for value in node.inputs]
        type_ = TensorType(DType.INT8, integers.weights.shape, integers.quant)
        made = self.rewriter.constant(f"{names[1]}{SUFFIX}", type_, integers.weights)
        operands[1] = self._dequantized(str(names[1]), made, type_)
        if integers.bias is None or integers.bias_quant is None:
            return
        shape = integers.bias.shape
        bias_type = TensorType(DType.INT32, shape, integers.bias_quant)
        name = names[2] if len(names) > 2 and names[2] is not None else f"{node.name}_bias"
        bias = self.rewriter.constant(f"{name}{SUFFIX}", bias_type, integers.bias)
        operands[2:] = [self._dequantized(name, bias, bias_type)]

    def _output(self, value: int) -> None:
        wanted = self.interface.output
        if wanted is DType.FLOAT32 or value not in self.integer:
            self.rewriter.output(self._read(value))
            return
        steps, source = self.steps[value], self.graph.values[value]
        held = interface_steps(steps, wanted)
        if held == steps:
            self.rewriter.output(self.integer[value])
            return
        type_ = TensorType(held.dtype, source.type.shape, held.quant)
        name = f"{source.name}_{wanted.value}"
        quantize = Quantize(Rounding.HALF_EVEN, wanted)
        self.rewriter.output(self.rewriter.node(name, quantize, (self.real[value],), ((name, type_),))[0])


def interface_steps(steps: Steps, wanted: DType) -> Steps:
    """The same scale in another 8-bit type: the same numbers, moved by 128 where signs differ."""
    if wanted is steps.dtype or {wanted, steps.dtype} != {DType.INT8, DType.UINT8}:
        return steps
    offset = 128 if wanted is DType.UINT8 else -128
    quant = replace(steps.quant, zero_points=tuple(point + offset for point in steps.quant.zero_points))
    return Steps(wanted, quant)
