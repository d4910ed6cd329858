"""Lower Lstm, Gru and Rnn to matrix products and elementwise operators, one time step after the other.

The quantizer works on operators that it knows in integers; a recurrent one becomes them here. The products
with the input are made for all steps at once, those with the state step by step; a state that begins with
zeros costs nothing in the first step.

Values are named ``NODE@DIRECTION.ROLE#STEP``: ``role_of`` gives the name without the step, and
``tied_values`` the groups of values that play one role at different times. A calibration that observes a
group as one and gives it one scale has a cell that is the same at every step, weights that are stored once,
and a sequence that is put together without changes of scale. The state over time has the roles ``h`` and, of
an Lstm, ``c``; step 0 is an initial state that was given.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from tinydeploy.ir import Array, Attrs, DType, Graph, Rewriter, TensorType
from tinydeploy.ops import OPS, AnySite, Site, site_of
from tinydeploy.ops.add import Add
from tinydeploy.ops.base import MAX_OPERANDS
from tinydeploy.ops.concatenation import Concatenation
from tinydeploy.ops.fully_connected import FullyConnected
from tinydeploy.ops.gru import Gru
from tinydeploy.ops.logistic import Logistic
from tinydeploy.ops.lstm import PEEPHOLES, Lstm
from tinydeploy.ops.maximum import Maximum
from tinydeploy.ops.minimum import Minimum
from tinydeploy.ops.mul import Mul
from tinydeploy.ops.recurrent import INITIAL, LENGTHS, Cell, CellFunction, cells, extents
from tinydeploy.ops.relu import Relu
from tinydeploy.ops.reshape import Reshape
from tinydeploy.ops.rnn import Rnn
from tinydeploy.ops.slice import Slice
from tinydeploy.ops.sub import Sub
from tinydeploy.ops.tanh import Tanh

MAX_STEPS = 1024
"""Longer sequences stay one operator: each step is C of its own."""

_ACTIVATIONS: dict[CellFunction, Attrs] = {
    CellFunction.RELU: Relu(),
    CellFunction.SIGMOID: Logistic(),
    CellFunction.TANH: Tanh(),
}

_TIED = re.compile(r"(?s)(.*@[a-z]+\.[a-z_]+)#\d+")


def role_of(name: str) -> str | None:
    """The name of a value without its step; None for values that this pass did not make."""
    found = _TIED.fullmatch(name)
    return found[1] if found else None


def tied_values(graph: Graph) -> tuple[tuple[int, ...], ...]:
    """Groups of values that play the same role at different steps, in order; constants stand alone."""
    groups: dict[str, list[int]] = {}
    for index, value in enumerate(graph.values):
        role = role_of(value.name)
        if role is not None and not value.is_constant:
            groups.setdefault(role, []).append(index)
    return tuple(map(tuple, groups.values()))


def unroll_recurrent(graph: Graph) -> Graph:
    """The graph without the recurrent nodes that can be lowered.

    Others stay as they are: float weights or biases that are computed at run time, sequences of different
    lengths, activations other than sigmoid, tanh and relu, more than MAX_STEPS steps.
    """
    chosen = [
        index
        for index, node in enumerate(graph.nodes)
        if isinstance(node.attrs, Lstm | Gru | Rnn) and can_unroll(site_of(graph, index))
    ]
    if not chosen:
        return graph
    rewriter = Rewriter(graph)
    for index in chosen:
        node = graph.nodes[index]
        made = _Unrolled(rewriter, graph, index).outputs()
        for old, new in zip(node.outputs, made, strict=True):
            rewriter.replace_value(old, new)
        rewriter.remove_node(index)
    return rewriter.freeze()


def can_unroll(site: AnySite) -> bool:
    """Whether a recurrent node can be lowered."""
    constant = all(site.constant(index) is not None for index in (1, 2, 3, PEEPHOLES) if site.has(index))
    known = all(function in _ACTIVATIONS for function, _, _ in site.attrs.activations)
    size = extents(site)
    return constant and known and not site.has(LENGTHS) and size.steps * size.directions <= MAX_STEPS


States = tuple[int | None, ...]
"""The values of states; None is zero."""


class _Unrolled:
    """The nodes that take the place of one recurrent node."""

    def __init__(self, rewriter: Rewriter, graph: Graph, index: int) -> None:
        self._rewriter = rewriter
        self._graph = graph
        self._index = index
        self._node = graph.nodes[index]
        self._site = site_of(graph, index)
        self._size = extents(self._site)
        self._types: dict[int, TensorType] = {}
        self._constants: dict[str, int] = {}
        self._direction = 0

    def outputs(self) -> tuple[int, ...]:
        """The values that replace the node's outputs."""
        size, site = self._size, self._site
        gates = site.input(1).shape[1] // size.hidden
        sequences: list[int] = []
        last: list[tuple[int, ...]] = []
        for direction, backward in enumerate(site.attrs.direction.reversed):
            self._direction = direction
            projected = self._projected(gates)
            states: States = tuple(self._start(state) for state in range(2 if gates == 4 else 1))
            shown: dict[int, int] = {}
            made: tuple[int, ...] = ()
            for step in range(size.steps):
                time = size.steps - 1 - step if backward else step
                rows = size.batch
                brought = self._slice(
                    projected, (time * rows, 0), (rows, gates * size.hidden), "brought", step
                )
                made = self._advance(brought, states, step)
                states, shown[time] = made, made[0]
            sequences.append(self._sequence([shown[time] for time in range(size.steps)]))
            last.append(made)
        results = [
            self._directions([self._reshaped(state, (1, size.batch, size.hidden)) for state in states], 0, k)
            for k, states in enumerate(zip(*last, strict=True), int(site.attrs.sequence))
        ]
        if site.attrs.sequence:
            results.insert(0, self._directions(sequences, 1, 0))
        return tuple(results)

    def _advance(self, brought: int, states: States, step: int) -> tuple[int, ...]:
        """The states after a step; ``brought`` [B, G * H] are the products with its input."""
        match self._site.attrs:
            case Lstm():
                return self._lstm(brought, states, step)
            case Gru():
                return self._gru(brought, states[0], step)
        (f,) = cells(self._site, 1, self._direction)
        total = self._sum(brought, self._product(states[0], 0, 1, "kept", step), "sum", step)
        return (self._activated(f, total, "h", step + 1),)

    def _lstm(self, brought: int, states: States, step: int) -> tuple[int, ...]:
        hidden, cell = states
        f, g, h = cells(self._site, 4, self._direction)
        total = self._sum(brought, self._product(hidden, 0, 4, "kept", step), "sum", step)
        after: int | None = None
        if self._site.has(PEEPHOLES):
            in_, out, forget = (
                self._gate(total, gate, 1, name, step) for gate, name in enumerate(("in", "out", "forget"))
            )
            opened = self._activated(f, self._peeped(in_, cell, 0, "in", step), "gate_i", step)
            keeps = self._activated(f, self._peeped(forget, cell, 2, "forget", step), "gate_f", step)
        else:
            gates = self._activated(f, self._gate(total, 0, 3, "open", step), "gates", step)
            opened, out, keeps = (
                self._gate(gates, gate, 1, name, step)
                for gate, name in enumerate(("gate_i", "gate_o", "gate_f"))
            )
        if self._site.attrs.input_forget:
            keeps = self._two(Sub(), self._one(), opened, "gate_f", step)
        candidate = self._activated(g, self._gate(total, 3, 1, "new", step), "gate_g", step)
        carried = self._times(keeps, cell, "carried", step)
        if carried is None:
            after = self._two(Mul(), opened, candidate, "c", step + 1)
        else:
            added = self._two(Mul(), opened, candidate, "added", step)
            after = self._two(Add(), carried, added, "c", step + 1)
        after = self._bounded(after, self._site.attrs.cell_clip, "c", step + 1)
        if self._site.has(PEEPHOLES):
            out = self._activated(f, self._peeped(out, after, 1, "out", step), "gate_o", step)
        shown = self._activated(h, after, "cell", step, clips=False)
        return self._two(Mul(), out, shown, "h", step + 1), after

    def _gru(self, brought: int, hidden: int | None, step: int) -> tuple[int, ...]:
        f, g = cells(self._site, 3, self._direction)
        after = self._site.attrs.linear_before_reset
        kept = self._product(hidden, 0, 3 if after else 2, "kept", step)
        pair = None if kept is None else self._gate(kept, 0, 2, "pair_h", step)
        total = self._sum(self._gate(brought, 0, 2, "pair_x", step), pair, "sum", step)
        gates = self._activated(f, total, "gates", step)
        update, reset = (self._gate(gates, k, 1, name, step) for k, name in enumerate(("gate_z", "gate_r")))
        if after:
            recurrent = self._times(reset, self._kept_new(kept, step), "new_kept", step)
        else:
            scaled = self._times(reset, hidden, "reset_h", step)
            recurrent = self._product(scaled, 2, 3, "new_kept", step)
        total = self._sum(self._gate(brought, 2, 1, "new_x", step), recurrent, "new", step)
        candidate = self._activated(g, total, "gate_n", step)
        opens = self._two(Sub(), self._one(), update, "opens", step)
        carried = self._times(update, hidden, "carried", step)
        if carried is None:
            return (self._two(Mul(), opens, candidate, "h", step + 1),)
        added = self._two(Mul(), opens, candidate, "added", step)
        return (self._two(Add(), added, carried, "h", step + 1),)

    def _kept_new(self, kept: int | None, step: int) -> int | None:
        """What the reset gate multiplies: the product of the candidate's gate with its bias."""
        if kept is not None:
            return self._gate(kept, 2, 1, "new_h", step)
        array = self._site.constant(3)
        if array is None:
            return None
        hidden = self._size.hidden
        return self._constant("bias_new", array[self._direction, -hidden:].reshape(1, hidden))

    # Parts

    def _projected(self, gates: int) -> int:
        """The products of every step's input with the weights, [T * B, G * H], and the biases that may be
        added there: all but the one that a Gru multiplies with its reset gate."""
        size, direction = self._size, self._direction
        rows = gates * size.hidden
        bias = None
        array = self._site.constant(3)
        if array is not None:
            total = array[direction, :rows].astype(np.float64)
            free = rows - size.hidden if self._resets_bias() else rows
            total[:free] += array[direction, rows : rows + free]
            bias = self._constant("bias_x", total.astype(np.float32))
        flat = self._reshaped(self._input(0), (size.steps * size.batch, size.inputs))
        weights = self._constant("weights_x", self._array(1)[direction])
        return self._emit(FullyConnected(), (flat, weights, bias), self._label("projected"))

    def _resets_bias(self) -> bool:
        attrs = self._site.attrs
        return isinstance(attrs, Gru) and attrs.linear_before_reset

    def _product(self, state: int | None, first: int, end: int, role: str, step: int) -> int | None:
        """The product of a state with the recurrence of gates ``first`` to ``end``."""
        if state is None:
            return None
        low, high = first * self._size.hidden, end * self._size.hidden
        weights = self._constant(f"weights_h{first}", self._array(2)[self._direction, low:high])
        array, bias = self._site.constant(3), None
        if self._resets_bias() and array is not None:
            own = np.zeros(high, np.float32)
            own[-self._size.hidden :] = array[self._direction, -self._size.hidden :]
            bias = self._constant(f"bias_h{first}", own)
        return self._emit(FullyConnected(), (state, weights, bias), self._label(role, step))

    def _start(self, state: int) -> int | None:
        """An initial state [B, H] that is given."""
        size, index = self._size, INITIAL + state
        if not self._site.has(index):
            return None
        array, role = self._site.constant(index), "hc"[state]
        if array is not None:
            return self._constant(f"initial_{role}", array[self._direction])
        box = (1, size.batch, size.hidden)
        one = self._slice(self._input(index), (self._direction, 0, 0), box, f"first_{role}", 0)
        return self._emit(Reshape(box[1:]), (one,), self._label(role, 0))

    def _gate(self, gates: int, index: int, count: int, role: str, step: int) -> int:
        """``count`` gates from ``index`` on, [B, count * H]."""
        hidden = self._size.hidden
        return self._slice(gates, (0, index * hidden), (self._size.batch, count * hidden), role, step)

    def _peeped(self, gate: int, cell: int | None, part: int, role: str, step: int) -> int:
        """A gate that sees the cell."""
        if cell is None:
            return gate
        hidden = self._size.hidden
        own = self._array(PEEPHOLES)[self._direction, part * hidden : (part + 1) * hidden]
        weights = self._constant(f"peephole_{role}", own.reshape(1, hidden))
        seen = self._two(Mul(), cell, weights, f"{role}_seen", step)
        return self._two(Add(), gate, seen, f"{role}_sum", step)

    def _activated(self, cell: Cell, value: int, role: str, step: int, *, clips: bool = True) -> int:
        if clips:
            value = self._bounded(value, self._site.attrs.clip, role, step)
        return self._emit(_ACTIVATIONS[cell[0]], (value,), self._label(role, step))

    def _bounded(self, value: int, most: float | None, role: str, step: int) -> int:
        """A value at most ``most`` away from zero."""
        if most is None:
            return value
        for attrs, side, limit in ((Minimum(), "below", most), (Maximum(), "above", -most)):
            bound = self._constant(f"{role}_{side}_limit", np.full((1, 1), limit, np.float32))
            value = self._two(attrs, value, bound, f"{role}_{side}", step)
        return value

    def _one(self) -> int:
        return self._constant("one", np.ones((1, 1), np.float32))

    def _two(self, attrs: Attrs, a: int, b: int, role: str, step: int) -> int:
        return self._emit(attrs, (a, b), self._label(role, step))

    def _sum(self, a: int, b: int | None, role: str, step: int) -> int:
        return a if b is None else self._two(Add(), a, b, role, step)

    def _times(self, a: int, b: int | None, role: str, step: int) -> int | None:
        return None if b is None else self._two(Mul(), a, b, role, step)

    def _slice(self, value: int, begin: Sequence[int], size: Sequence[int], role: str, step: int) -> int:
        if tuple(size) == self._type(value).shape:
            return value
        attrs = Slice(tuple(begin), tuple(size), (1,) * len(begin))
        return self._emit(attrs, (value,), self._label(role, step))

    def _sequence(self, states: list[int]) -> int:
        """[T, 1, B, H] of a direction."""
        size = self._size
        joined = self._joined(states, 0, "sequence")
        return self._reshaped(joined, (size.steps, 1, size.batch, size.hidden))

    def _joined(self, values: list[int], axis: int, role: str) -> int:
        """Values one after the other, in groups where there are more than a node takes."""
        while len(values) > 1:
            groups = [values[k : k + MAX_OPERANDS] for k in range(0, len(values), MAX_OPERANDS)]
            values = [
                self._emit(Concatenation(axis), tuple(group), self._label(role, k))
                if len(group) > 1
                else group[0]
                for k, group in enumerate(groups)
            ]
        return values[0]

    def _directions(self, values: list[int], axis: int, output: int) -> int:
        """An output of the node, under its own name."""
        name = self._graph.values[self._node.outputs[output]].name
        if len(values) == 1:
            return self._emit(Reshape(self._type(values[0]).shape), (values[0],), name)
        return self._emit(Concatenation(axis), tuple(values), name)

    def _reshaped(self, value: int, shape: tuple[int, ...]) -> int:
        return self._emit(Reshape(shape), (value,), f"{self._node.name}@reshaped")

    # Nodes

    def _label(self, role: str, step: int | None = None) -> str:
        way = ("backward" if backward else "forward" for backward in self._site.attrs.direction.reversed)
        name = f"{self._node.name}@{list(way)[self._direction]}.{role}"
        return name if step is None else f"{name}#{step}"

    def _input(self, index: int) -> int:
        value = self._node.inputs[index]
        if value is None:
            raise ValueError(f"input {index} is missing")
        return value

    def _array(self, index: int) -> Array:
        array = self._site.constant(index)
        if array is None:
            raise ValueError(f"input {index} is not constant")
        return array

    def _type(self, value: int) -> TensorType:
        return self._types[value] if value in self._types else self._graph.type(value)

    def _constant(self, role: str, array: Array) -> int:
        """A constant of the direction, made once."""
        name = self._label(role)
        if name not in self._constants:
            type_ = TensorType(DType.FLOAT32, array.shape)
            value = self._rewriter.constant(name, type_, np.ascontiguousarray(array, np.float32))
            self._types[value] = type_
            self._constants[name] = value
        return self._constants[name]

    def _emit(self, attrs: Attrs, inputs: tuple[int | None, ...], name: str) -> int:
        types = tuple(None if value is None else self._type(value) for value in inputs)
        site = Site(name, attrs, types, (), (None,) * len(inputs))
        (type_,) = OPS[type(attrs).__name__].infer(site)
        (made,) = self._rewriter.node(name, attrs, inputs, ((name, type_),), before=self._index)
        self._types[made] = type_
        return made
