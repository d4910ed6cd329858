"""One walk over a graph in its order: what lies between Dequantize and Quantize becomes integer."""

from __future__ import annotations

import dataclasses

import numpy as np

from tinydeploy.fixed_point import Rounding
from tinydeploy.ir import Array, Attrs, DType, Graph, Node, Rewriter, TensorType
from tinydeploy.ops import OPS, AnySite, Site, check, site_of
from tinydeploy.ops.dequantize import Dequantize
from tinydeploy.ops.interpolated import MOST_BITS, Interpolated, interpolated, table_of
from tinydeploy.ops.lookup import Lookup
from tinydeploy.ops.maximum import Maximum
from tinydeploy.ops.minimum import Minimum
from tinydeploy.ops.movement import fill_of, with_fill
from tinydeploy.ops.quantize import Quantize
from tinydeploy.ops.quantized import Activation, activation_limits, quant_of
from tinydeploy.ops.reinterpret import Reinterpret
from tinydeploy.ops.requantize import Requantize
from tinydeploy.passes.integerize.constants import fine_steps, steps_up_to
from tinydeploy.passes.integerize.known import (
    Constant,
    Known,
    constant_reals,
    constant_steps,
    dequantized,
    steps_known,
)
from tinydeploy.passes.integerize.rules import INDEX, RULES
from tinydeploy.passes.integerize.tables import POINTWISE, evaluated
from tinydeploy.passes.integerize.wanted import Lookahead, Wanted, is_monotone, moves_of


class Sweep:
    """A graph while it is made integer. ``known`` tells of float values, ``constants`` of constant ones."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.known: dict[int, Known] = {}
        self.constants: dict[int, Constant] = {
            value: constant_reals(graph.array(value))
            for value in graph.constants()
            if graph.type(value).dtype is DType.FLOAT32
        }
        self._edit = Rewriter(graph)
        self._types: dict[int, TensorType] = {}
        self._arrays: dict[int, Array] = {}
        self._passed: set[int] = set()
        self._at = 0
        self._lookahead = Lookahead(graph, self.constants)

    def run(self) -> Graph:
        for index, node in enumerate(self.graph.nodes):
            self._settle_constant(index, node)
        for index, node in enumerate(self.graph.nodes):
            self._at = index
            self._visit(index, node)
        return self._edit.freeze()

    # What rules use

    def type(self, value: int) -> TensorType:
        """Type of a value of the source or a new one."""
        return self._types[value] if value in self._types else self.graph.type(value)

    def wanted(self, value: int, *, affine: bool = False) -> Wanted | None:
        return self._lookahead.wanted(value, affine=affine)

    def constant(self, name: str, type_: TensorType, array: Array) -> int:
        """A new constant."""
        made = self._edit.constant(name, type_, array.astype(type_.dtype.numpy))
        self._types[made] = type_
        self._arrays[made] = array.astype(type_.dtype.numpy)
        return made

    def emit(
        self, name: str, attrs: Attrs, inputs: tuple[int | None, ...], output: str, type_: TensorType
    ) -> int | None:
        """A new node before the one that is visited; None where its operator does not support it."""
        site: AnySite = Site(
            name,
            attrs,
            tuple(None if value is None else self.type(value) for value in inputs),
            (type_,),
            tuple(None if value is None else self._array(value) for value in inputs),
        )
        if check.gaps(site):
            return None
        (made,) = self._edit.node(name, attrs, inputs, ((output, type_),), before=self._at)
        self._types[made] = type_
        return made

    def steps(self, value: int | None) -> Known | None:
        """A float value as steps: itself where it is, through a table where its numbers are on the grid."""
        known = None if value is None else self.known.get(value)
        if value is None or known is None or known.is_steps:
            return known
        wanted = self._on_grid(known)
        if wanted is None:
            return None
        made = self.looked_up(known, wanted, known.type, self.graph.values[value].name)
        if made is None:
            return None
        self.known[value] = steps_known(made, known.type)
        return self.known[value]

    def fine(self, value: int) -> int | None:
        """A float value as operand of arithmetic: its steps, or a function of steps in a fine scale."""
        known = self.steps(value)
        if known is not None:
            return known.source
        known = self.known.get(value)
        if known is None:
            return None
        if known.type.dtype is DType.INT16:
            return self._fine_lines(value, known)
        return self._function(value, known, known.table, DType.INT16)

    def reciprocal(self, value: int, largest: float) -> int | None:
        """1 over a float value, within ``largest``, as operand of arithmetic."""
        if (constant := self.constants.get(value)) is not None:
            with np.errstate(divide="ignore"):
                real = np.clip(1.0 / constant.real, -largest, largest)
            type_, steps = fine_steps(real, DType.INT32)
            return self.constant(self._name(value), type_, steps)
        known = self.known.get(value)
        if known is None:
            return None
        with np.errstate(divide="ignore"):
            table = np.clip(1.0 / known.table.astype(np.float64), -largest, largest)
        return self._function(value, known, table, DType.INT32)

    def _fine_lines(self, value: int, known: Known) -> int | None:
        reached = known.table[known.reached]
        if not np.isfinite(reached).all():
            return None
        type_, _ = steps_up_to(reached, DType.INT32, (1 << 22) - 1)
        made = dataclasses.replace(type_, shape=known.type.shape)
        tries = (self._lined(known, made, self._name(value), tolerance) for tolerance in (16, 64, 128))
        return next((found for found in tries if found is not None), None)

    def _function(self, value: int, known: Known, table: Array, dtype: DType) -> int | None:
        reached = table[known.reached]
        if known.type.dtype is not DType.INT8 or not np.isfinite(reached).all():
            return None
        cut = np.clip(np.nan_to_num(table.astype(np.float64)), reached.min(), reached.max())
        type_, steps = fine_steps(cut, dtype)
        made = dataclasses.replace(type_, shape=known.type.shape)
        return self.looked_up(known, steps, made, self._name(value))

    def _lined(self, known: Known, type_: TensorType, name: str, tolerance: int = 1) -> int | None:
        """The node that computes a function of int16 steps, with as few lines as keep it near exact."""
        quant = quant_of(type_)
        exact = np.rint(known.table[known.reached].astype(np.float64) / quant.scale) + quant.zero_point
        steps = np.clip(exact, *type_.dtype.limits)
        own = np.arange(known.low, known.high + 1, dtype=np.int64)
        real = known.table.astype(np.float64) / quant.scale + quant.zero_point
        if not np.isfinite(real).all():
            return None
        for bits in range(5, MOST_BITS + 1):
            table = table_of(real, bits, type_.dtype)
            if np.abs(interpolated(table, own, type_.dtype) - steps).max() <= tolerance:
                operand = self.constant(f"{name}/table", TensorType(DType.INT32, table.shape), table)
                return self.emit(name, Interpolated(type_.dtype), (known.source, operand), name, type_)
        return None

    def requantized(self, known: Known, type_: TensorType, name: str) -> int | None:
        """The numbers of steps in another quantization."""
        if known.type == type_:
            return known.source
        attrs = Requantize(type_.dtype, Rounding.HALF_EVEN)
        return self.emit(name, attrs, (known.source,), name, type_)

    def looked_up(self, known: Known, steps: Array, type_: TensorType, name: str) -> int | None:
        """The node that maps the steps of 8 bits to ``steps``."""
        table_type = TensorType(type_.dtype, (len(steps),))
        table = self.constant(f"{name}/table", table_type, steps)
        return self.emit(name, Lookup(), (known.source, table), name, type_)

    def compute(self, node: Node, wanted: Wanted, attrs: Attrs, inputs: tuple[int | None, ...]) -> bool:
        """Compute a node's output as it is wanted, with an activation that clamps, or a table behind it."""
        output = node.outputs[0]
        type_ = TensorType(wanted.dtype, self.graph.type(output).shape, wanted.quant)
        low, high = wanted.within(*fused_bounds(node)).limits
        activation = activation_of(type_, low, high)
        if hasattr(attrs, "activation"):
            attrs = dataclasses.replace(attrs, activation=activation or Activation.NONE)  # type: ignore[type-var]
        name = wanted.name or self._name(output)
        made = self.emit(node.name, attrs, inputs, name, type_)
        if made is None:
            return False
        clamped = hasattr(attrs, "activation") and activation is not None
        if not clamped and (low, high) != type_.dtype.limits:
            made = self._clamped(made, type_, low, high, name)
        if made is None:
            return False
        self._passed |= wanted.passed
        self.known[output] = steps_known(made, type_, low, high)
        return True

    def _clamped(self, source: int, type_: TensorType, low: int, high: int, name: str) -> int | None:
        """Steps within bounds, by a table or, where they are wide, two nodes."""
        if type_.dtype is DType.INT8:
            return self.looked_up(
                steps_known(source, type_), np.clip(np.arange(-128, 128), low, high), type_, name
            )
        made: int | None = source
        bound = dataclasses.replace(type_, shape=(1,) * max(len(type_.shape), 1))
        for attrs, limit in ((Maximum(), low), (Minimum(), high)):
            if made is not None and limit not in type_.dtype.limits:
                constant = self.constant(f"{name}/bound", bound, np.full(bound.shape, limit))
                made = self.emit(name, attrs, (made, constant), name, type_)
        return made

    # One node

    def _visit(self, index: int, node: Node) -> None:
        attrs = node.attrs
        if any(output in self.known or output in self.constants for output in node.outputs):
            return
        if index in self._passed:
            source = next(value for value in node.inputs if value is not None and value in self.known)
            self.known[node.outputs[0]] = self.known[source]
        elif isinstance(attrs, Dequantize):
            self._dequantize(node)
        elif isinstance(attrs, Quantize):
            self._quantize(index, node)
        elif moves_of(node):
            self._move(index, node)
        elif is_monotone(node):
            self._monotone(index, node)
        elif isinstance(attrs, INDEX):
            self._index(index, node)
        elif not (isinstance(attrs, POINTWISE) and self._pointwise(index, node)) and type(attrs) in RULES:
            RULES[type(attrs)](self, node, site_of(self.graph, index))

    def _settle_constant(self, index: int, node: Node) -> None:
        """Constants that the model keeps quantized, moved or computed with."""
        value = node.inputs[0] if node.inputs else None
        if isinstance(node.attrs, Dequantize):
            if value is not None and self.graph.values[value].is_constant:
                steps, type_ = self.graph.array(value), self.graph.type(value)
                self.constants[node.outputs[0]] = constant_steps(steps, type_)
        elif any(operand is not None and not self._is_constant(operand) for operand in node.inputs):
            return
        elif moves_of(node):
            self._move_constant(index, node)
        elif isinstance(node.attrs, POINTWISE) and all(item in self.constants for item in node.inputs):
            self._constant_function(index, node)

    def _dequantize(self, node: Node) -> None:
        value = node.inputs[0]
        if value is None:
            return
        type_ = self.graph.type(value)
        if type_.quant is not None and type_.quant.per_tensor and type_.dtype in (DType.INT8, DType.INT16):
            self.known[node.outputs[0]] = steps_known(value, type_)

    def _quantize(self, index: int, node: Node) -> None:
        value, output = node.inputs[0], node.outputs[0]
        known = None if value is None else self.known.get(value)
        type_ = self.graph.type(output)
        if (
            known is None
            or type_.quant is None
            or not type_.quant.per_tensor
            or node.attrs != Quantize(Rounding.HALF_EVEN, type_.dtype)
        ):
            return
        steps = _quantized(known.table, type_)
        own = np.arange(len(known.table)) + known.first
        name = self.graph.values[output].name
        made: int | None
        if known.type == type_ and np.array_equal(steps[known.reached], own[known.reached]):
            made = known.source
        elif known.type.dtype is DType.INT8:
            made = self.looked_up(known, steps, type_, name)
        elif known.is_steps:
            made = self.requantized(known, type_, name)
        else:
            made = self._lined(known, type_, name)
        if made is not None:
            self._edit.replace_value(output, made)
            self._edit.remove_node(index)

    def _move(self, index: int, node: Node) -> None:
        places, output = moves_of(node), node.outputs[0]
        if len(node.outputs) != 1:
            return
        values = [value for place in places if (value := node.inputs[place]) is not None]
        single = self.known.get(values[0]) if len(values) == 1 else None
        fill = fill_of(node.attrs)
        if single is not None and not single.is_steps and fill is None:
            self._move_function(node, single)
            return
        found = [self.steps(value) for value in values]
        type_ = self._common(output, [known for known in found if known is not None])
        if type_ is None:
            return
        operands = list(node.inputs)
        for place in places:
            operand = self.operand(node.inputs[place], type_)
            if operand is None:
                return
            operands[place] = operand
        attrs = (
            node.attrs if fill is None else with_fill(node.attrs, int(_quantized(np.array([fill]), type_)[0]))
        )
        moved = dataclasses.replace(type_, shape=self.graph.type(output).shape)
        made = self.emit(node.name, attrs, tuple(operands), self._steps_name(output, moved), moved)
        if made is not None:
            self._moved(output, steps_known(made, moved, *_range([item for item in found if item], fill)))

    def _common(self, output: int, found: list[Known]) -> TensorType | None:
        """The type in which a move can hold its operands: theirs if it is one, else that of its readers."""
        types = {dataclasses.replace(known.type, shape=()) for known in found}
        if len(types) == 1:
            return types.pop()
        wanted = self.wanted(output)
        if not types or wanted is None:
            return None
        return TensorType(wanted.dtype, (), wanted.quant)

    def operand(self, value: int | None, type_: TensorType) -> int | None:
        """An operand of a move in the move's type."""
        if value is None:
            return None
        wanted = dataclasses.replace(type_, shape=self.graph.type(value).shape)
        name = self._name(value)
        if (constant := self.constants.get(value)) is not None:
            return self.constant(name, wanted, _quantized(constant.real, wanted))
        known = self.steps(value)
        return None if known is None else self.requantized(known, wanted, name)

    def _move_constant(self, index: int, node: Node) -> None:
        """A move of a constant, so that quantized weights stay so; not where it writes other elements."""
        values = [value for value in node.inputs if value is not None]
        constant = self.constants.get(values[0])
        if constant is None or len(moves_of(node)) != 1 or fill_of(node.attrs) is not None:
            return
        site = site_of(self.graph, index)
        places = np.arange(constant.steps.size, dtype=np.int32).reshape(constant.steps.shape)
        others = tuple(self.graph.array(value) for value in values[1:])
        plain = TensorType(DType.INT32, places.shape)
        output = dataclasses.replace(site.outputs[0], dtype=DType.INT32)
        moving = dataclasses.replace(site, inputs=(plain, *site.inputs[1:]), outputs=(output,))
        (moved,) = OPS[node.op].reference(moving, (places, *others))
        self.constants[node.outputs[0]] = constant.taken(moved)

    def _constant_function(self, index: int, node: Node) -> None:
        """Arithmetic of constants, as exporters leave it beside quantized biases."""
        arrays = tuple(
            self.constants[value].real.astype(np.float32) for value in node.inputs if value is not None
        )
        site = site_of(self.graph, index)
        if site.outputs[0].dtype is DType.FLOAT32:
            (result,) = OPS[node.op].reference(dataclasses.replace(site, constants=arrays), arrays)
            self.constants[node.outputs[0]] = constant_reals(result)

    def _move_function(self, node: Node, known: Known) -> None:
        """The move of a function's results is the function of the moved steps."""
        output = node.outputs[0]
        moved = dataclasses.replace(known.type, shape=self.graph.type(output).shape)
        inputs = tuple(
            known.source if value is not None and value in self.known else value for value in node.inputs
        )
        made = self.emit(node.name, node.attrs, inputs, self._name(output), moved)
        if made is not None:
            self.known[output] = dataclasses.replace(known, source=made, type=moved)

    def _monotone(self, index: int, node: Node) -> None:
        output = node.outputs[0]
        known = self.steps(node.inputs[0])
        if known is None:
            return
        type_ = dataclasses.replace(known.type, shape=self.graph.type(output).shape)
        name = self._steps_name(output, type_)
        if known.type.dtype is DType.INT8:
            made = self.emit(node.name, node.attrs, (known.source,), name, type_)
        else:
            made = self._numbers(known, output)
            plain = dataclasses.replace(type_, quant=None)
            made = None if made is None else self.emit(node.name, node.attrs, (made,), name, plain)
            made = None if made is None else self.emit(node.name, Reinterpret(), (made,), name, type_)
        if made is not None:
            self._moved(output, steps_known(made, type_, known.low, known.high))

    def _index(self, index: int, node: Node) -> None:
        """Which element is the largest does not depend on the scale."""
        known = self.steps(node.inputs[0])
        if known is None:
            return
        output = node.outputs[0]
        numbers = self._numbers(known, output)
        if numbers is None:
            return
        made = self.emit(node.name, node.attrs, (numbers,), self._name(output), self.graph.type(output))
        if made is not None:
            self._edit.replace_value(output, made)

    def _pointwise(self, index: int, node: Node) -> bool:
        """A function of one element of a single quantized value."""
        operands: list[Array] = []
        sources: dict[int, Known] = {}
        simple = True
        for value in node.inputs:
            if value is None:
                return False
            if (constant := self.constants.get(value)) is not None and constant.real.size == 1:
                operands.append(constant.real)
            elif (known := self.known.get(value)) is not None:
                operands.append(known.table)
                sources[known.source] = known
                simple = simple and known.is_steps
            else:
                return False
        output = node.outputs[0]
        if len(sources) != 1 or len(node.outputs) != 1:
            return False
        (known,) = sources.values()
        wanted = self.wanted(output)
        wide = known.type.dtype is not DType.INT8 and type(node.attrs) in RULES and wanted is not None
        if wide and simple:
            return False
        if self.graph.type(output).shape != known.type.shape:
            return False
        result = evaluated(node, tuple(operands))
        if result is None:
            return False
        if wide and wanted is not None:
            type_ = dataclasses.replace(known.type, dtype=wanted.dtype, quant=wanted.quant)
            function = dataclasses.replace(known, table=result)
            name = wanted.name or self._name(output)
            made = None if wanted.passed else self._lined(function, type_, name)
            if made is not None:
                self.known[output] = steps_known(made, type_)
            return made is not None
        self.known[output] = dataclasses.replace(known, table=result)
        return True

    # Small things

    def _numbers(self, known: Known, output: int) -> int | None:
        """Steps as plain integers: their order is that of the numbers they stand for."""
        plain = dataclasses.replace(known.type, quant=None)
        return self.emit(self._name(output), Reinterpret(), (known.source,), self._name(output), plain)

    def _moved(self, output: int, known: Known) -> None:
        """A float value is now made from steps; who reads it in float32 gets them through one Dequantize."""
        self.known[output] = known
        name, type_ = self._name(output), self.graph.type(output)
        (made,) = self._edit.node(name, Dequantize(), (known.source,), ((name, type_),), before=self._at)
        self._edit.replace_value(output, made)

    def _name(self, value: int) -> str:
        return self.graph.values[value].name

    def _steps_name(self, value: int, type_: TensorType) -> str:
        """The name of the steps of a float value, where the model has them in this type, else its own."""
        wanted = self.wanted(value)
        if wanted is None or not wanted.name or (wanted.dtype, wanted.quant) != (type_.dtype, type_.quant):
            return self._name(value)
        return wanted.name

    def _is_constant(self, value: int) -> bool:
        return value in self.constants or self.graph.values[value].is_constant

    def _array(self, value: int) -> Array | None:
        if value in self._arrays:
            return self._arrays[value]
        if value < len(self.graph.values) and self.graph.values[value].is_constant:
            return self.graph.array(value)
        return None

    def _on_grid(self, known: Known) -> Array | None:
        """The steps of a function's results, where each is the number of a step."""
        steps = _quantized(known.table, known.type)
        back = dequantized(known.type)[steps - known.first]
        if known.type.dtype is not DType.INT8 or not np.array_equal(
            back[known.reached], known.table[known.reached]
        ):
            return None
        return steps


def fused_bounds(node: Node) -> tuple[float, float]:
    """The bounds of the clamp that a float operator has already."""
    activation = getattr(node.attrs, "activation", Activation.NONE)
    return activation.bounds if isinstance(activation, Activation) else Activation.NONE.bounds


def activation_of(type_: TensorType, low: int, high: int) -> Activation | None:
    """The activation that clamps to [``low``, ``high``] in steps of a type, if there is one."""
    return next((one for one in Activation if activation_limits(one, type_) == (low, high)), None)


def _range(found: list[Known], fill: float | None) -> tuple[int | None, int | None]:
    """What elements that come from several values can be; anything where a border is written."""
    if not found or fill is not None or len({known.type.quant for known in found}) > 1:
        return None, None
    return min(known.low for known in found), max(known.high for known in found)


def _quantized(numbers: Array, type_: TensorType) -> Array:
    """The steps of real numbers, as Quantize makes them."""
    attrs = Quantize(Rounding.HALF_EVEN, type_.dtype)
    source = TensorType(DType.FLOAT32, numbers.shape)
    output = TensorType(type_.dtype, numbers.shape, type_.quant)
    site = Site("quantize", attrs, (source,), (output,), (None,))
    with np.errstate(over="ignore"):
        (steps,) = OPS["Quantize"].reference(site, (numbers.astype(np.float32),))
    return steps.astype(np.int64)
