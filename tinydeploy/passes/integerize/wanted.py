"""What a model does with a float value until it quantizes it: the scale in which it can be computed."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass

import numpy as np

from tinydeploy.fixed_point import Rounding
from tinydeploy.ir import DType, Graph, Node, Quant
from tinydeploy.ops.add import Add
from tinydeploy.ops.clip import Clip
from tinydeploy.ops.max_pool_2d import MaxPool2D
from tinydeploy.ops.movement import moved_inputs
from tinydeploy.ops.mul import Mul
from tinydeploy.ops.quantize import Quantize
from tinydeploy.ops.quantized import Activation
from tinydeploy.ops.reduce_max import ReduceMax
from tinydeploy.ops.reduce_min import ReduceMin
from tinydeploy.ops.relu import Relu
from tinydeploy.ops.resample import Resample
from tinydeploy.ops.where import Where
from tinydeploy.passes.integerize.known import Constant

MONOTONE = (MaxPool2D, ReduceMax, ReduceMin)
"""Operators that choose among elements by their order: they mean the same on steps."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The quantization in which every reader of a value takes it, through clamps to [``low``, ``high``].

    Before that it is multiplied by ``gain`` and gets ``offset``, one number per index of the last axis.
    ``passed`` are the nodes on the way that do this. ``name`` is that of the steps, empty where they are
    moved before.
    """

    dtype: DType
    quant: Quant
    name: str
    low: float = -math.inf
    high: float = math.inf
    gain: float = 1.0
    offset: tuple[float, ...] | None = None
    passed: frozenset[int] = frozenset()

    def within(self, low: float, high: float) -> Wanted:
        """The same behind one more clamp to [``low``, ``high``]."""
        return dataclasses.replace(
            self,
            low=min(max(low, self.low), self.high),
            high=max(min(high, self.high), self.low),
        )

    @property
    def limits(self) -> tuple[int, int]:
        """The clamps in steps."""
        least, most = self.dtype.limits
        low = least if self.low == -math.inf else max(least, self._steps(self.low))
        high = most if self.high == math.inf else min(most, self._steps(self.high))
        return low, high

    def _steps(self, real: float) -> int:
        steps = np.rint(np.float32(real) / np.float32(self.quant.scale)) + self.quant.zero_point
        return int(np.clip(steps, -(1 << 30), 1 << 30))


class Lookahead:
    """Follows values of one graph to their Quantize nodes."""

    def __init__(self, graph: Graph, constants: dict[int, Constant]) -> None:
        self._graph = graph
        self._constants = constants
        self._consumers = graph.consumers()
        self._kept = {*graph.outputs, *(state.after for state in graph.states)}

    def wanted(self, value: int, *, affine: bool = False) -> Wanted | None:
        """How all readers of a value want it; None where they differ or one takes it in float32.

        ``affine``: its operator can multiply by constants and add one per index of the last axis.
        """
        if value in self._kept:
            return None
        readers = self._consumers.get(value, ())
        if not readers:
            return None
        found: list[Wanted] = []
        for index in readers:
            wanted = self._through(value, index, affine and len(readers) == 1)
            if wanted is None:
                return None
            found.append(wanted)
        first = found[0]
        if any(_essence(other) != _essence(first) for other in found):
            return None
        passed = frozenset().union(*(other.passed for other in found))
        return dataclasses.replace(first, passed=passed)

    def _through(self, value: int, index: int, affine: bool) -> Wanted | None:
        node = self._graph.nodes[index]
        attrs, output = node.attrs, node.outputs[0]
        if isinstance(attrs, Quantize):
            type_ = self._graph.type(output)
            if attrs.rounding is not Rounding.HALF_EVEN or type_.quant is None or not type_.quant.per_tensor:
                return None
            return Wanted(type_.dtype, type_.quant, self._graph.values[output].name)
        if (bounds := clamp_of(node)) is not None:
            return self._clamped(index, output, bounds)
        if is_monotone(node):
            return self._unscaled(output)
        if isinstance(attrs, Resample) and node.inputs[0] == value:
            return self._resampled(node)
        moved = moves_of(node)
        places = {place for place, operand in enumerate(node.inputs) if operand == value}
        if moved and len(node.outputs) == 1 and places <= set(moved):
            return self._unscaled(output)
        return self._affine(value, index) if affine else None

    def _unscaled(self, output: int) -> Wanted | None:
        wanted = self.wanted(output)
        return None if wanted is None else dataclasses.replace(wanted, name="")

    def _resampled(self, node: Node) -> Wanted | None:
        """Weights below 0 let sums leave the range of what is summed: that wants finer, wider steps."""
        wanted, weights = self._unscaled(node.outputs[0]), node.inputs[2]
        if wanted is None or weights is None or not self._graph.values[weights].is_constant:
            return wanted
        if wanted.dtype is not DType.INT8 or (self._graph.array(weights) >= 0).all():
            return wanted
        return dataclasses.replace(wanted, dtype=DType.INT16, quant=Quant((wanted.quant.scale / 64,), (0,)))

    def _clamped(self, index: int, output: int, bounds: tuple[float, float]) -> Wanted | None:
        wanted = self.wanted(output)
        if wanted is None:
            return None
        return dataclasses.replace(wanted.within(*bounds), passed=wanted.passed | {index})

    def _affine(self, value: int, index: int) -> Wanted | None:
        """Through a multiplication by a number, or the addition of a vector along the last axis."""
        node = self._graph.nodes[index]
        if not isinstance(node.attrs, Add | Mul) or node.attrs.activation is not Activation.NONE:
            return None
        others = [other for other in node.inputs if other != value and other is not None]
        constant = self._constants.get(others[0]) if len(others) == 1 else None
        output = node.outputs[0]
        if constant is None or self._graph.type(output).shape != self._graph.type(value).shape:
            return None
        wanted = self.wanted(output, affine=True)
        if wanted is None:
            return None
        channels = self._graph.type(value).shape[-1]
        real = constant.real
        if isinstance(node.attrs, Mul):
            if real.size != 1 or not real.reshape(-1)[0] > 0:
                return None
            return dataclasses.replace(
                wanted, gain=wanted.gain * float(real.reshape(-1)[0]), passed=wanted.passed | {index}
            )
        if real.size not in (1, channels) or (real.ndim and real.shape[-1] != real.size):
            return None
        own = np.broadcast_to(real.reshape(-1), (channels,)) * wanted.gain
        total = own if wanted.offset is None else own + np.array(wanted.offset)
        return dataclasses.replace(wanted, offset=tuple(total.tolist()), passed=wanted.passed | {index})


def _essence(wanted: Wanted) -> tuple[object, ...]:
    return wanted.dtype, wanted.quant, wanted.low, wanted.high, wanted.gain, wanted.offset


def is_monotone(node: Node) -> bool:
    """Whether a node only chooses among elements by their order."""
    activation = getattr(node.attrs, "activation", Activation.NONE)
    return isinstance(node.attrs, MONOTONE) and activation is Activation.NONE


def moves_of(node: Node) -> tuple[int, ...]:
    """The inputs whose elements a node moves; none where it computes."""
    if isinstance(node.attrs, Where):
        return (1, 2)
    return moved_inputs(node.attrs, len(node.inputs))


def clamp_of(node: Node) -> tuple[float, float] | None:
    """The bounds of a node that only clamps."""
    if isinstance(node.attrs, Relu):
        return node.attrs.activation.bounds
    if isinstance(node.attrs, Clip):
        low, high = node.attrs.low, node.attrs.high
        return -math.inf if low is None else low, math.inf if high is None else high
    return None
