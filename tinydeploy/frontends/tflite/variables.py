"""Resource variables: handles, what a file assigns to them once, what reads and assigns them in each run."""

from __future__ import annotations

from dataclasses import dataclass, field

import tflite

from tinydeploy.frontends.tflite.context import Context
from tinydeploy.frontends.tflite.model import Model, text_of
from tinydeploy.ir import Array

_KEEP = "keep state in inputs and outputs of the model"

OPERATORS = frozenset(("VAR_HANDLE", "READ_VARIABLE", "ASSIGN_VARIABLE", "CALL_ONCE"))

Key = tuple[str, str]
"""Container and name of a variable."""


@dataclass(frozen=True, slots=True)
class Read:
    """The tensor ``output`` is the variable's value at this place."""

    variable: Key
    output: int


@dataclass(frozen=True, slots=True)
class Assign:
    """From this place on the variable holds the tensor ``value``."""

    variable: Key
    value: int


@dataclass(slots=True)
class Variables:
    """The variables of a file while a subgraph is imported."""

    model: Model
    where: str
    initial: dict[Key, Array] = field(default_factory=dict)
    _handles: dict[int, Key] = field(default_factory=dict)
    _called: set[int] = field(default_factory=set)

    def imported(self, context: Context) -> Read | Assign | None:
        """What an operator of ``OPERATORS`` does when the model runs; gaps go to the context."""
        match context.operation.op:
            case "VAR_HANDLE":
                context.operands(0, 0)
                self._handles[context.output.index] = _key(context)
            case "READ_VARIABLE":
                context.operands(1, 1)
                return Read(self._variable(context), context.output.index)
            case "ASSIGN_VARIABLE":
                context.operands(2, 2, outputs=0)
                return Assign(self._variable(context), context.input(1).index)
            case _:
                self._call_once(context)
        return None

    def _variable(self, context: Context) -> Key:
        handle = context.input(0)
        if handle.index not in self._handles:
            raise context.fault(f"{handle.label} is not the handle of a variable")
        return self._handles[handle.index]

    def _call_once(self, context: Context) -> None:
        """Run the subgraph that gives variables their first values: assignments of constants."""
        context.operands(0, 0, outputs=0)
        options = context.required_options(tflite.BuiltinOptions.CallOnceOptions, tflite.CallOnceOptions)
        number = options.InitSubgraphIndex()
        if not 0 <= number < len(self.model.subgraphs):
            raise context.fault(f"subgraph {number} does not exist")
        if number in self._called:
            return
        self._called.add(number)
        graph = self.model.subgraphs[number]
        inner, tensors = Variables(self.model, self.where), list(graph.tensors)
        for operation in graph.operations:
            step = Context(tensors, operation, f"{self.where}: {graph.name}")
            if operation.op not in ("VAR_HANDLE", "ASSIGN_VARIABLE"):
                context.refuse(f"the initialization computes {operation.op}", _KEEP)
                return
            done = inner.imported(step)
            if isinstance(done, Assign):
                value = graph.tensors[done.value]
                if value.data is None or value.dtype is None:
                    context.refuse(f"{value.label}, a variable's first value, is not constant", _KEEP)
                    return
                self.initial[done.variable] = value.array()


def _key(context: Context) -> Key:
    options = context.required_options(tflite.BuiltinOptions.VarHandleOptions, tflite.VarHandleOptions)
    return text_of(options.Container()), text_of(options.SharedName())
